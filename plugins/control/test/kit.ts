// A control stream with one kind of held object, 'thing', and no plugin at all.
import { join } from 'node:path'
import type { Test } from 'tap'
import { Type } from 'typebox'
import type { Clock } from '../../../kernel/base/clock.ts'
import { newId } from '../../../kernel/base/id.ts'
import {
  defineKind,
  type HeldRow,
  type Kind,
  kindSlot,
  type Settlement
} from '../../../kernel/control/held.ts'
import { type Connection, connectionSlot } from '../../../kernel/control/peers.ts'
import { Client, HeldObject } from '../../../kernel/identity/entities.ts'
import { hashOf, newSecret } from '../../../kernel/identity/secret.ts'
import { gather, type Slot } from '../../../kernel/slot.ts'
import { kernelStore } from '../../../kernel/store/kernel-store.ts'
import { openStore } from '../../../kernel/store/open.ts'
import { openCodec } from '../../../kernel/wire/codec.ts'
import { wireMessages } from '../../../kernel/wire/exchange.ts'
import { answer, type Bound, bind, defineMessage, defineQuestion } from '../../../kernel/wire/message.ts'
import { type FakeClock, fakeClock } from '../../../test/kit/clock.ts'
import { Echo } from '../../../test/kit/echo.ts'
import { type Line, listen } from '../../../test/kit/house.ts'
import { connectAgent, type Script, type ScriptedAgent, scripted } from '../../../test/kit/scripted-agent.ts'
import { openControl } from '../control.ts'
import plugin from '../plugin.ts'
import { controlMessages } from '../wire.ts'

const proto = new URL('./thing.proto', import.meta.url)

export const Holding = defineMessage({
  name: 'sluice.thing.Holding',
  proto,
  body: Type.Object({ revision: Type.Integer() })
})
export const Put = defineQuestion({
  name: 'sluice.thing.Put',
  proto,
  body: Type.Object({ id: Type.String(), revision: Type.Integer(), text: Type.String() }),
  answer: Holding
})
export const Drop = defineQuestion({
  name: 'sluice.thing.Drop',
  proto,
  body: Type.Object({ id: Type.String(), revision: Type.Integer(), removal: Type.String() }),
  answer: Holding
})
export const things = [Put, Drop, Holding, Echo]

export const codec = openCodec([...wireMessages, ...controlMessages, ...things])

/** `kind id@revision is`, in the order of settling. */
export const wordOf = (row: HeldRow, settlement: Settlement): string =>
  `${row.id}@${row.revision} ${settlement.is === 'refused' ? settlement.code : settlement.is}`

export interface Site {
  readonly words: string[]
  readonly texts: Map<string, string> // what `load` finds; without an entry the row is left out
  readonly log: Line[]
  readonly clock: FakeClock
  readonly control: Awaited<ReturnType<typeof openControl>>
  readonly store: Awaited<ReturnType<typeof openStore>>
  enroll(name?: string): Promise<{ readonly clientId: string; readonly token: string }>
  /** A new revision of things, as a route would make them. */
  put(clientId: string, ...ids: string[]): Promise<number>
  drop(clientId: string, id: string, removal: 'drain' | 'cut'): Promise<number>
  rows(clientId: string): Promise<string[]>
  /** `keeper` closes it at its end; the test, when it is not given. */
  agent(token: string, script?: Partial<Script>, keeper?: Pick<Test, 'teardown'>): Promise<ScriptedAgent>
  /** Resolves when the store has settled the n-th word. */
  settled(n: number): Promise<readonly string[]>
  events(name: string): readonly Line[]
}

interface Plan {
  readonly connection?: Connection
  readonly handlers?: readonly Bound[]
  readonly greetings?: readonly Bound[]
  readonly clock?: Clock
  readonly kinds?: readonly Partial<Kind>[]
}

export async function site(t: Test, plan: Plan = {}): Promise<Site> {
  const dir = t.testdir()
  const log: Line[] = []
  const clock = fakeClock()
  const words: string[] = []
  const texts = new Map<string, string>()
  const watchers = new Set<() => void>()
  const thing = defineKind({
    kind: 'thing',
    push: Put,
    remove: Drop,
    async load(rows) {
      const known = rows.flatMap(row => {
        const text = texts.get(row.id)
        return text === undefined ? [] : [{ row, text }]
      })
      return new Map(known.map(({ row: { id, revision }, text }) => [id, { id, revision, text }]))
    },
    removal: ({ id, revision, removal }) => ({ id, revision, removal: removal ?? '' }),
    async settle() {},
    settled(row, settlement) {
      words.push(wordOf(row, settlement))
      for (const look of watchers) look()
    }
  })
  const kinds: readonly Kind[] = (plan.kinds ?? [{}]).map(part => ({ ...thing, ...part }))
  const fills = [
    ...kinds.map(kind => kindSlot.fill(kind)),
    ...(plan.connection ? [connectionSlot.fill(plan.connection)] : [])
  ]
  const store = await openStore(join(dir, 'sluice.db'), [kernelStore, plugin])
  const control = await openControl({
    config: { control_listen: '127.0.0.1:0' },
    dataDir: dir,
    version: '2.0.0',
    store,
    clock: plan.clock ?? clock,
    log: listen(log),
    codec,
    filled: <T>(slot: Slot<T>) => gather('kernel', [{ name: 'things', fills }], () => ({}))(slot),
    handlers: () => plan.handlers ?? [],
    greetings: () => plan.greetings ?? []
  })
  await control.listen()
  t.teardown(async () => {
    await control.close()
    await store.close()
  })

  const wake = (clientId: string, revision: number): number => {
    control.held.wake(clientId)
    return revision
  }
  return {
    words,
    texts,
    log,
    clock,
    control,
    store,
    async enroll(name = 'edge') {
      const [clientId, token] = [newId(), newSecret()]
      const made = { id: clientId, name, address: null, tokenHash: hashOf(token), revision: 0, enrolledAt: 0 }
      await store.change(em => em.insert(Client, made))
      return { clientId, token }
    },
    async put(clientId, ...ids) {
      let revision = 0
      await store.change(async em => {
        for (const id of ids) {
          texts.set(id, texts.get(id) ?? `text of ${id}`)
          revision = await control.held.put(em, { clientId, kind: 'thing', id })
        }
      })
      return wake(clientId, revision)
    },
    async drop(clientId, id, removal) {
      texts.delete(id)
      return wake(
        clientId,
        await store.change(em => control.held.drop(em, { clientId, kind: 'thing', id }, removal))
      )
    },
    rows: clientId =>
      store.read(async em => {
        const rows = await em.find(HeldObject, { clientId }, { orderBy: { revision: 'asc' } })
        return rows.map(({ id, revision, removal }) => `${id}@${revision}${removal ? ` ${removal}` : ''}`)
      }),
    agent: (token, script = {}, keeper = t) =>
      connectAgent(keeper, {
        port: control.port(),
        fingerprint: control.fingerprint,
        token,
        messages: things,
        answers: [
          scripted(Put, ({ revision }) => ({ revision })),
          scripted(Drop, ({ revision }) => ({ revision })),
          scripted(Echo, body => body)
        ],
        ...script
      }),
    settled: n =>
      new Promise(resolve => {
        const look = (): void => {
          if (words.length < n) return
          watchers.delete(look)
          resolve(words)
        }
        watchers.add(look)
        look()
      }),
    events: name => log.filter(({ event }) => event === name)
  }
}

/** A handler of the server that says a text back. */
export const echo: readonly Bound[] = bind([answer(Echo, async (_: null, body) => body)], () => null)
