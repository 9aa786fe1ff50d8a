// A control stream with one kind of managed object, 'thing', and no plugin.
import type { Test } from 'tap'
import { Type } from 'typebox'
import type { Clock } from '../../../kernel/base/clock.ts'
import type { ControlHost } from '../../../kernel/control/host.ts'
import {
  type ApplyResult,
  type Delivery,
  defineObjectKind,
  type ManagedObject,
  type ObjectKind,
  objectKindSlot
} from '../../../kernel/control/managed-objects.ts'
import { type ConnectionHooks, connectionSlot } from '../../../kernel/control/peers.ts'
import { Client, ManagedObjectRow } from '../../../kernel/identity/entities.ts'
import { hashOf, newSecret } from '../../../kernel/identity/secret.ts'
import { newId } from '../../../kernel/platform/id.ts'
import { type Slot, slotReader } from '../../../kernel/slot.ts'
import { kernelStore } from '../../../kernel/store/kernel-store.ts'
import type { Database } from '../../../kernel/store/open.ts'
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
import { openStoreIn } from '../../../test/support/store.ts'
import certificate from '../../certificate/plugin.ts'
import servers from '../../servers/plugin.ts'
import { openControl } from '../control.ts'
import plugin from '../plugin.ts'

const proto = new URL('./thing.proto', import.meta.url)

export const AppliedRevision = defineMessage({
  name: 'sluice.thing.AppliedRevision',
  proto,
  body: Type.Object({ revision: Type.Integer() })
})
export const Put = defineRequest({
  name: 'sluice.thing.Put',
  proto,
  body: Type.Object({ id: Type.String(), revision: Type.Integer(), text: Type.String() }),
  response: AppliedRevision
})
export const Drop = defineRequest({
  name: 'sluice.thing.Drop',
  proto,
  body: Type.Object({ id: Type.String(), revision: Type.Integer(), removal: Type.String() }),
  response: AppliedRevision
})
export const messages = [Put, Drop, AppliedRevision, Echo]

export const codec = openCodec([...wireMessages, ...controlMessages, ...messages])

/** Returns `id@revision` and the result's status or code. */
export const resultText = (row: ManagedObject, result: ApplyResult): string =>
  `${row.id}@${row.revision} ${result.status === 'refused' ? result.code : result.status}`

interface Actions {
  enroll(name?: string): Promise<{ readonly clientId: string; readonly token: string }>
  /** Gives things a new revision, as a route would. Returns the last one. */
  put(clientId: string, ...ids: string[]): Promise<number>
  drop(clientId: string, id: string, removal: 'drain' | 'cut'): Promise<number>
  /** Gives a thing a new revision, and returns its delivery. Wakes no client. */
  sendPush(clientId: string, id?: string): Promise<Delivery>
  /** Drops a thing, and returns the delivery of the removal. Wakes no client. */
  sendRemoval(clientId: string, id?: string): Promise<Delivery>
  rows(clientId: string): Promise<string[]>
}

export interface ControlFixture extends Actions {
  readonly results: string[]
  readonly texts: Map<string, string> // by id; `load` leaves out a thing without a text
  readonly log: LogLine[] // from the start on
  readonly clock: FakeClock
  readonly control: ControlHost
  readonly store: Database
  /** Connects an agent. The teardown of `test` closes it; default: the test of the fixture. */
  connectAgent(token: string, script?: Partial<Script>, test?: Pick<Test, 'teardown'>): Promise<ScriptedAgent>
  /** Resolves when `n` results are recorded. */
  waitForResults(n: number): Promise<readonly string[]>
  /** How often the handlers of an agent were made. */
  handlersBound(): number
  events(name: string): readonly LogLine[]
}

interface Options {
  readonly connection?: ConnectionHooks
  readonly handlers?: readonly BoundHandler[]
  readonly preAuthHandlers?: readonly BoundHandler[]
  readonly clock?: Clock
  readonly kinds?: readonly Partial<ObjectKind>[]
  readonly wrapStore?: (opened: Database) => Database // what the control stream gets
}

export async function controlFixture(t: Test, options: Options = {}): Promise<ControlFixture> {
  const log: LogLine[] = []
  const clock = fakeClock()
  const texts = new Map<string, string>()
  const { results, add, waitForResults } = openResults()
  const thing = thingKind(texts, add)
  const kinds: readonly ObjectKind[] = (options.kinds ?? [{}]).map(part => ({ ...thing, ...part }))
  const fills = [
    ...kinds.map(kind => objectKindSlot.fill(kind)),
    ...(options.connection ? [connectionSlot.fill(options.connection)] : [])
  ]
  const dir = t.testdir()
  let bound = 0
  const store = await openStoreIn(t, dir, [kernelStore, certificate, servers, plugin])
  const control = await openControl({
    configOf: () => ({ control_listen: '127.0.0.1:0' }),
    dataDir: dir,
    version: '2.0.0',
    store: options.wrapStore?.(store) ?? store,
    clock: options.clock ?? clock,
    log: recordLog(log),
    codec,
    filled: <T>(slot: Slot<T>) => slotReader('kernel', [{ name: 'things', fills }], () => ({}))(slot),
    handlers: () => {
      bound += 1
      return options.handlers ?? []
    },
    preAuthHandlers: () => options.preAuthHandlers ?? []
  })
  log.length = 0 // that the certificate was made
  await control.listen()
  t.teardown(async () => {
    await control.close()
    await store.close()
  })
  return {
    results,
    texts,
    log,
    clock,
    control,
    store,
    ...actionsOf(control, store, texts),
    connectAgent: (token, script = {}, test = t) => {
      const { fingerprint } = control
      return connectAgent(test, { port: control.port(), fingerprint, token, messages, responses, ...script })
    },
    waitForResults,
    handlersBound: () => bound,
    events: name => log.filter(({ event }) => event === name)
  }
}

const responses = [
  scriptedResponse(Put, ({ revision }) => ({ revision })),
  scriptedResponse(Drop, ({ revision }) => ({ revision })),
  scriptedResponse(Echo, body => body)
]

/** Returns the kind 'thing', which sends `texts` and passes each recorded result to `recorded`. */
const thingKind = (texts: ReadonlyMap<string, string>, recorded: (result: string) => void): ObjectKind =>
  defineObjectKind({
    kind: 'thing',
    push: Put,
    remove: Drop,
    async load(rows) {
      const known = rows.flatMap(({ id, revision }) => {
        const text = texts.get(id)
        return text === undefined ? [] : [{ id, revision, text }]
      })
      return new Map(known.map(body => [body.id, body]))
    },
    removal: ({ id, revision, removal }) => ({ id, revision, removal: removal ?? '' }),
    async recordResult() {},
    resultRecorded: (row, result) => recorded(resultText(row, result))
  })

function openResults() {
  const results: string[] = []
  const checks = new Set<() => void>()
  return {
    results,
    add(result: string): void {
      results.push(result)
      for (const check of checks) check()
    },
    waitForResults: (n: number): Promise<readonly string[]> =>
      new Promise(resolve => {
        const check = (): void => {
          if (results.length < n) return
          checks.delete(check)
          resolve(results)
        }
        checks.add(check)
        check()
      })
  }
}

function actionsOf({ objects }: ControlHost, store: Database, texts: Map<string, string>): Actions {
  const wake = (clientId: string, revision: number): number => {
    objects.wake(clientId)
    return revision
  }
  return {
    async enroll(name = 'edge') {
      const [clientId, token] = [newId(), newSecret()]
      const row = { id: clientId, name, address: null, tokenHash: hashOf(token), revision: 0, enrolledAt: 0 }
      await store.change(em => em.insert(Client, row))
      return { clientId, token }
    },
    async put(clientId, ...ids) {
      let revision = 0
      await store.change(async em => {
        for (const id of ids) {
          texts.set(id, texts.get(id) ?? `text of ${id}`)
          revision = await objects.put(em, { clientId, kind: 'thing', id })
        }
      })
      return wake(clientId, revision)
    },
    async drop(clientId, id, removal) {
      texts.delete(id)
      const object = { clientId, kind: 'thing', id }
      return wake(clientId, await store.change(em => objects.drop(em, object, removal)))
    },
    sendPush: (clientId, id = 'a') =>
      store.change(async em => {
        texts.set(id, texts.get(id) ?? `text of ${id}`)
        await objects.put(em, { clientId, kind: 'thing', id })
        return objects.deliver(em, { clientId, kind: 'thing', id }, 'push')
      }),
    sendRemoval: (clientId, id = 'a') =>
      store.change(async em => {
        texts.delete(id)
        await objects.drop(em, { clientId, kind: 'thing', id }, 'cut')
        return objects.deliver(em, { clientId, kind: 'thing', id }, 'remove')
      }),
    rows: clientId =>
      store.read(async em => {
        const rows = await em.find(ManagedObjectRow, { clientId }, { orderBy: { revision: 'asc' } })
        return rows.map(({ id, revision, removal }) => `${id}@${revision}${removal ? ` ${removal}` : ''}`)
      })
  }
}

/** Handlers of the server: Echo returns the text of its request. */
export const echo: readonly BoundHandler[] = bindHandlers(
  [respond(Echo, async (_: null, body) => body)],
  () => null
)
