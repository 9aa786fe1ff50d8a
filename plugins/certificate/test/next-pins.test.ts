// Agents learn the next certificate when they join. Their confirmation is stored with their token.
import t, { type Test } from 'tap'
import { Client } from '../../../kernel/identity/entities.ts'
import { hashOf, newSecret } from '../../../kernel/identity/secret.ts'
import { newId } from '../../../kernel/platform/id.ts'
import { kernelStore } from '../../../kernel/store/kernel-store.ts'
import type { LogLine } from '../../../kit/test-server.ts'
import { recordLog } from '../../../kit/test-server.ts'
import { isStoreWorking } from '../../../kit/test-store.ts'
import { openStoreIn } from '../../../test/support/store.ts'
import { setStoreValue, unawareClients } from '../certificate-pins.ts'
import { NextPinRow } from '../entities.ts'
import { openNextPins } from '../next-pins.ts'
import plugin from '../plugin.ts'

const next = 'b'.repeat(64)

async function nextPinsFixture(t: Test) {
  const store = await openStoreIn(t, t.testdir(), [kernelStore, plugin])
  t.teardown(store.close)
  const log: LogLine[] = []
  const pins = openNextPins({ store, log: recordLog(log) })
  const clientId = newId()
  let tokenHash = hashOf(newSecret())
  const made = { id: clientId, name: 'paris', address: null, tokenHash, revision: 0, enrolledAt: 0 }
  await store.change(em => em.insert(Client, made))
  const announced: string[] = []
  /** The agent joins. Resolves when its confirmation is stored, or the announcement has failed. */
  const join = async (reaction: 'confirms' | 'fails' = 'confirms'): Promise<void> => {
    const lines = log.length
    const request = async (_: unknown, { fingerprint }: { fingerprint: string }) => {
      if (reaction === 'fails') throw new Error('wire.unknown')
      announced.push(fingerprint)
      return { fingerprint }
    }
    const { change } = store
    const peer = { clientId, tokenHash, ended: new AbortController().signal, request, change }
    pins.announceTo(peer as never) // only the members that it uses
    for (let ticks = 0; log.length === lines && (ticks < 50 || isStoreWorking()); ticks++)
      await new Promise(resolve => setImmediate(resolve))
  }
  return {
    store,
    pins,
    announced,
    log,
    join,
    stage: async (fingerprint: string | null) => {
      await store.change(em => setStoreValue('next_leaf', fingerprint, em))
      await pins.load()
    },
    reenroll: async () => {
      tokenHash = hashOf(newSecret())
      await store.change(em => em.nativeUpdate(Client, { id: clientId }, { tokenHash }))
    },
    waiting: () => store.read(em => unawareClients(next, em))
  }
}

t.test('the next pin is announced once, and again after a later enrollment', async t => {
  const { stage, join, announced, waiting, reenroll } = await nextPinsFixture(t)
  await join()
  t.same(announced, [], 'nothing is staged')

  await stage(next)
  t.match(await waiting(), [{ name: 'paris' }])
  await join()
  await join()
  t.same(announced, [next])
  t.same(await waiting(), [])

  await reenroll()
  t.match(await waiting(), [{ name: 'paris' }])
  await join()
  t.same(announced, [next, next])
})

t.test('an agent forgets a certificate that is no longer staged, and its row is deleted', async t => {
  const { stage, join, announced, store } = await nextPinsFixture(t)
  await stage(next)
  await join()

  await stage(null)
  await join()

  t.same(announced, [next, ''])
  t.equal(await store.read(em => em.count(NextPinRow)), 0)
})

t.test('an agent that does not know the message is logged, and stays unaware', async t => {
  const { stage, join, log, waiting } = await nextPinsFixture(t)
  await stage(next)

  await join('fails')

  t.match(log, [{ level: 'warn', event: 'certificate.next_pin_failed' }])
  t.match(await waiting(), [{ name: 'paris' }])
})
