// A restore that is killed leaves the old store whole or the new one whole, each with its certificate.
import { chmodSync, cpSync, existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { kernelStore } from '../../../kernel/store/kernel-store.ts'
import { type Database, openStore } from '../../../kernel/store/open.ts'
import { killAtEachChange } from '../../../test/support/kill-at-each-change.ts'
import { openCertificate } from '../../certificate/certificate.ts'
import { requirePinned } from '../../certificate/certificate-pins.ts'
import { namedCertificates, settleFiles } from '../../certificate/exports.ts'
import certificate from '../../certificate/plugin.ts'
import control from '../../control/plugin.ts'
import servers from '../../servers/plugin.ts'
import { writeBackup } from '../file.ts'

const stores = [kernelStore, certificate, servers, control]

/** Makes a store with a client of this name, who pins its certificate. */
async function makeStore(t: Test, dir: string, name: string): Promise<string> {
  const { fingerprint } = await openCertificate(dir)
  const store = await openStore(join(dir, 'sluice.db'), stores)
  await store.change(em =>
    em.execute(
      `insert into kernel_store_value values ('generation', '${name}'), ('leaf', '${fingerprint}');`,
      [],
      'run'
    )
  )
  await store.change(em =>
    em.execute(
      `insert into kernel_client (id, name, token_hash, revision, enrolled_at) values ('${name}', '${name}', 'h', 1, 1)`
    )
  )
  t.teardown(store.close) // until then a copy has a log, as a killed server leaves it
  return fingerprint
}

/** Takes the certificate as a start does, which is refused if agents pin another. */
async function certificateOfStart(dir: string, store: Database) {
  settleFiles(dir, await store.read(namedCertificates))
  const certificate = await openCertificate(dir)
  await requirePinned(store, certificate.fingerprint)
  return certificate
}

t.test(
  'a kill at every step of a restore leaves one store whole, with the certificate that its agents pin',
  { timeout: 480_000 },
  async t => {
    const dir = t.testdir({ old: {}, new: {} })
    const file = join(dir, 'new.backup')
    const pins = {
      old: await makeStore(t, join(dir, 'old'), 'old'),
      new: await makeStore(t, join(dir, 'new'), 'new')
    }
    await writeBackup({ dataDir: join(dir, 'new'), keys: {}, version: '2.0.0', now: Date.now() }, file)
    const target = (kill: number) => join(dir, `target-${kill}`)
    const seen: string[] = []

    const kills = await killAtEachChange(
      t,
      join(import.meta.dirname, 'restore-child.ts'),
      kill => {
        cpSync(join(dir, 'old'), target(kill), { recursive: true })
        chmodSync(target(kill), 0o700)
        return [file, target(kill)]
      },
      async (kill, end) => {
        const store = await openStore(join(target(kill), 'sluice.db'), stores)
        const { fingerprint } = await certificateOfStart(target(kill), store)
        const clients = await store.read(em =>
          em.execute<{ name: string }[]>('select name from kernel_client')
        )
        const name = clients.map(({ name }) => name).join() as 'old' | 'new'
        const state = await store.read(em => em.execute<object[]>('pragma integrity_check'))
        t.equal(fingerprint, pins[name], `${kill}: the certificate of the ${name} store`)
        t.same(state, [{ integrity_check: 'ok' }])
        t.notOk(readdirSync(target(kill)).some(entry => entry.endsWith('.restored')))
        if (end === 'completed') t.notOk(existsSync(join(target(kill), 'restore.new')))
        seen.push(name)
        await store.close()
      }
    )

    t.ok(kills > 10, `${kills} steps`)
    t.same(seen, seen.toSorted().reverse(), 'first the old one, from one step on the new one')
    t.same(new Set(seen), new Set(['old', 'new']))
  }
)
