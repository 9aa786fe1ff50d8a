// A control stream with one kind of managed object, 'thing', and no plugin.
import { join } from 'node:path'
import type { Test } from 'tap'
import { Type } from 'typebox'
import type { Clock } from '../../../kernel/base/clock.ts'
import { newId } from '../../../kernel/base/id.ts'
import {
  type ApplyResult,
  defineObjectKind,
  type ManagedObject,
  type ObjectKind,
  objectKindSlot
} from '../../../kernel/control/managed-objects.ts'
import { type ConnectionHooks, connectionSlot } from '../../../kernel/control/peers.ts'
import { Client, ManagedObjectRow } from '../../../kernel/identity/entities.ts'
import { hashOf, newSecret } from '../../../kernel/identity/secret.ts'
import { type Slot, slotReader } from '../../../kernel/slot.ts'
import { kernelStore } from '../../../kernel/store/kernel-store.ts'
import { openStore } from '../../../kernel/store/open.ts'
import { openCodec } from '../../../kernel/wire/codec.ts'
import { controlMessages } from '../../../kernel/wire/control.ts'
import { wireMessages } from '../../../kernel/wire/envelope.ts'
import {
  type BoundHandler,
  bindHandlers,
  defineMessage,
  defineRequest,
  respond
} from '../../../kernel/wire/message.ts'
import { type FakeClock, fakeClock } from '../../../kit/fake-clock.ts'
import {
  connectAgent,
  type Script,
  type ScriptedAgent,
  scriptedResponse
} from '../../../kit/scripted-agent.ts'
import { type LogLine, recordLog } from '../../../kit/test-server.ts'
import { Echo } from '../../../test/support/echo.ts'
import { openControl } from '../control.ts'
import plugin from '../plugin.ts'

const proto = new URL('./thing.proto', import.meta.url)

export const Holding = defineMessage({
  name: 'sluice.thing.Holding',
  proto,
  body: Type.Object({ revision: Type.Integer() })
})
export const Put = defineRequest({
  name: 'sluice.thing.Put',
  proto,
  body: Type.Object({ id: Type.String(), revision: Type.Integer(), text: Type.String() }),
  response: Holding
})
export const Drop = defineRequest({
  name: 'sluice.thing.Drop',
  proto,
  body: Type.Object({ id: Type.String(), revision: Type.Integer(), removal: Type.String() }),
  response: Holding
})
export const things = [Put, Drop, Holding, Echo]

export const codec = openCodec([...wireMessages, ...controlMessages, ...things])

/** `id@revision` and the result's status or code. */
export const resultText = (row: ManagedObject, result: ApplyResult): string =>
  `${row.id}@${row.revision} ${result.status === 'refused' ? result.code : result.status}`

export interface ControlFixture {
  readonly results: string[]
  readonly texts: Map<string, string> // what `load` finds; without an entry the row is left out
  readonly log: LogLine[]
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
  /** Resolves when the n-th result is recorded. */
  settled(n: number): Promise<readonly string[]>
  events(name: string): readonly LogLine[]
}

interface Plan {
  readonly connection?: ConnectionHooks
  readonly handlers?: readonly BoundHandler[]
  readonly preAuthHandlers?: readonly BoundHandler[]
  readonly clock?: Clock
  readonly kinds?: readonly Partial<ObjectKind>[]
}

export async function controlFixture(t: Test, plan: Plan = {}): Promise<ControlFixture> {
  const dir = t.testdir()
  const log: LogLine[] = []
  const clock = fakeClock()
  const results: string[] = []
  const texts = new Map<string, string>()
  const watchers = new Set<() => void>()
  const thing = defineObjectKind({
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
    async recordResult() {},
    resultRecorded(row, result) {
      results.push(resultText(row, result))
      for (const look of watchers) look()
    }
  })
  const kinds: readonly ObjectKind[] = (plan.kinds ?? [{}]).map(part => ({ ...thing, ...part }))
  const fills = [
    ...kinds.map(kind => objectKindSlot.fill(kind)),
    ...(plan.connection ? [connectionSlot.fill(plan.connection)] : [])
  ]
  const store = await openStore(join(dir, 'sluice.db'), [kernelStore, plugin])
  const control = await openControl({
    config: { control_listen: '127.0.0.1:0' },
    dataDir: dir,
    version: '2.0.0',
    store,
    clock: plan.clock ?? clock,
    log: recordLog(log),
    codec,
    filled: <T>(slot: Slot<T>) => slotReader('kernel', [{ name: 'things', fills }], () => ({}))(slot),
    handlers: () => plan.handlers ?? [],
    preAuthHandlers: () => plan.preAuthHandlers ?? []
  })
  await control.listen()
  t.teardown(async () => {
    await control.close()
    await store.close()
  })

  const wake = (clientId: string, revision: number): number => {
    control.objects.wake(clientId)
    return revision
  }
  return {
    results,
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
          revision = await control.objects.put(em, { clientId, kind: 'thing', id })
        }
      })
      return wake(clientId, revision)
    },
    async drop(clientId, id, removal) {
      texts.delete(id)
      return wake(
        clientId,
        await store.change(em => control.objects.drop(em, { clientId, kind: 'thing', id }, removal))
      )
    },
    rows: clientId =>
      store.read(async em => {
        const rows = await em.find(ManagedObjectRow, { clientId }, { orderBy: { revision: 'asc' } })
        return rows.map(({ id, revision, removal }) => `${id}@${revision}${removal ? ` ${removal}` : ''}`)
      }),
    agent: (token, script = {}, keeper = t) =>
      connectAgent(keeper, {
        port: control.port(),
        fingerprint: control.fingerprint,
        token,
        messages: things,
        responses: [
          scriptedResponse(Put, ({ revision }) => ({ revision })),
          scriptedResponse(Drop, ({ revision }) => ({ revision })),
          scriptedResponse(Echo, body => body)
        ],
        ...script
      }),
    settled: n =>
      new Promise(resolve => {
        const look = (): void => {
          if (results.length < n) return
          watchers.delete(look)
          resolve(results)
        }
        watchers.add(look)
        look()
      }),
    events: name => log.filter(({ event }) => event === name)
  }
}

/** A handler of the server that returns the text it gets. */
export const echo: readonly BoundHandler[] = bindHandlers(
  [respond(Echo, async (_: null, body) => body)],
  () => null
)
