// Composition root: opens the components of an agent and connects them. Nothing is forwarded yet.
import type { Clock } from '../kernel/base/clock.ts'
import type { Log } from '../kernel/base/log.ts'
import type { Release } from '../kernel/base/releases.ts'
import { openCodec } from '../kernel/wire/codec.ts'
import { controlMessages, Inventory } from '../kernel/wire/control.ts'
import { wireMessages } from '../kernel/wire/envelope.ts'
import { type BoundHandler, bindHandlers, type Codec, respond } from '../kernel/wire/message.ts'
import type { Engine, EngineEvent, EngineOptions } from './engine/engine.ts'
import { openEngineLog } from './engine/engine-log.ts'
import type { HostBoot } from './journal/host-boot.ts'
import { type Journal, openJournal } from './journal/journal.ts'
import { ManagedObjects } from './objects/managed-objects.ts'
import { openObjectStore } from './objects/object-store.ts'
import { type AgentCall, type AgentPlugin, messagesOf } from './plugin.ts'
import type { PluginSet } from './plugins/plugin-set.ts'
import type { Resolver } from './resolver/resolver.ts'
import { openAgentDial } from './rules/agent-dial.ts'
import { openAgentHost } from './rules/agent-host.ts'
import { openAgentTime } from './rules/agent-time.ts'
import { openConnections } from './rules/connections.ts'
import { type ExitKeys, openExits } from './rules/exits.ts'
import { FieldRules } from './rules/field-rules.ts'
import type { Guardrails } from './rules/guardrails.ts'
import { Meters } from './rules/meters.ts'
import { openPaths } from './rules/paths.ts'
import { openPlanner } from './rules/planner.ts'
import { openRuleClosings } from './rules/rule-closings.ts'
import { Rules } from './rules/rules.ts'
import { openTargetDials, type TargetDials } from './rules/target-dials.ts'
import { openQueues, type Queues } from './state/queues.ts'
import { openRuleSettings } from './state/rule-settings.ts'
import { lockStateDir, lockWaitMs, openStateDatabase, type StateDatabase } from './state/state-database.ts'
import { readBundle } from './stream/bundle.ts'
import { messages as endpointMessages } from './wire/endpoints.ts'
import { messages as pinMessages } from './wire/next-pin.ts'

export interface AgentOptions {
  readonly openEngine: (options: EngineOptions) => Engine
  readonly engineName: string
  readonly resolver: Resolver
  readonly bind: readonly string[] // see EngineOptions
  readonly guardrails: Guardrails
  readonly idleProbe?: boolean // probes rules without traffic; default: false
  readonly exits?: ExitKeys // default: all are allowed
  readonly stateDir: string
  readonly bundleFile: string
  readonly version: string
  readonly clock: Clock
  readonly boot?: HostBoot | undefined // undefined: unknown
  readonly log: Log
  readonly random?: () => number // in [0, 1), for reconnect delays
}

/** The components of an agent that its life, its reload and its status use. */
export interface Components {
  readonly codec: () => Codec
  readonly rules: Rules
  readonly fieldRules: FieldRules
  readonly objects: ManagedObjects
  readonly journal: Journal
  readonly handlers: () => readonly BoundHandler[]
  /** The services that plugins get. */
  readonly call: AgentCall
  setLimits(next: GivenLimits): void
}

/** The part of the configuration that can change while the agent runs. */
interface Limits {
  readonly guardrails: Guardrails
  readonly idleProbe: boolean
  readonly exits: ExitKeys
}
type GivenLimits = Pick<AgentOptions, keyof Limits>

const limitsOf = ({
  guardrails,
  idleProbe = false,
  exits = { allow_exit: true, exit_entries: [] }
}: GivenLimits): Limits => ({ guardrails, idleProbe, exits })

/** Subtracted from the time of a sample: an overloaded engine thread can count sent bytes this late. */
const countingDelayMs = 100

/** Opens all components. `defer` gets their releases, which run in reverse order. */
export function openComponents(
  options: AgentOptions,
  plugins: PluginSet,
  defer: (release: Release) => void
): Components {
  const { stateDir, clock, log } = options
  let limits = limitsOf(options)
  const { db, journalDb, setLockWaits } = openDatabases(stateDir, defer)
  const codec = plugins.derived(openAgentCodec)
  const queues = openQueues({ db: journalDb, clock, log })
  defer(queues.close)
  const settings = openRuleSettings({ db, clock, log })
  defer(settings.close)
  const { journal, time } = openTimedJournal(options, journalDb, defer, () => fieldRules.reconsider())
  defer(() => setLockWaits(lockWaitMs)) // the engine has stopped
  const onEvents = (batch: readonly EngineEvent[]): void => batch.forEach(dispatch) // defined below
  const engine = options.openEngine({ bind: options.bind, onEvents })
  defer(engine.stop)

  const planner = plugins.derived(all =>
    openPlanner({ plugins: all, codec: codec(), guardrails: () => limits.guardrails, call: () => call })
  )
  const meters = new Meters(engine)
  const closings = openRuleClosings({ meters, clock, drainMs: () => settings.current().drainMs })
  const fieldRules = new FieldRules({ plugins: () => plugins.all, closings, time, call: () => call, log })
  const rules = new Rules({
    engine,
    planner,
    meters,
    fieldRules,
    closings,
    journal,
    settings,
    clock,
    log,
    emit(event) {
      for (const plugin of plugins.all) plugin.event?.(event, call)
    }
  })
  const kinds = plugins.derived(all => all.flatMap(({ kinds }) => kinds ?? []))
  const objects = new ManagedObjects({ store: openObjectStore(db), kinds, call: () => call, clock, log })
  const dials = openTargetDials({ plugins: () => plugins.all, rules, engine, call: () => call, clock })
  const call: AgentCall = openCall(options, {
    engine,
    dials,
    rules,
    meters,
    objects,
    journal,
    queues,
    time,
    codec,
    limits: () => limits
  })
  const dispatch = openDispatch(options, plugins, { engine, dials, rules, call })
  const handlers = plugins.derived(all => bindAll(all, objects, call))
  setLockWaits(0) // from here on, a wait would stop forwarding
  const setLimits = (next: GivenLimits): void => {
    limits = limitsOf(next)
  }
  return { codec, rules, fieldRules, objects, journal, handlers, call, setLimits }
}

interface CallParts extends Pick<AgentCall, 'rules' | 'meters' | 'objects' | 'journal' | 'time'> {
  readonly engine: Engine
  readonly dials: TargetDials
  readonly rules: Rules
  readonly meters: Meters
  readonly journal: Journal
  readonly queues: Queues
  readonly codec: () => Codec
  readonly limits: () => Limits
}

/** Returns the services that plugins get. */
function openCall(options: AgentOptions, parts: CallParts): AgentCall {
  const { engine, rules, meters, objects, journal, queues, time, codec, limits } = parts
  const { clock, log, bundleFile } = options
  return {
    config: {},
    rules,
    meters,
    takeSample: sampler(engine, journal, clock),
    objects,
    journal,
    log,
    clock,
    time,
    host: openAgentHost({ ...options, guardrails: () => limits().guardrails, engine }),
    clientId: readBundle(bundleFile)?.client_id ?? '',
    queue: queues.open,
    changeAddresses: (name, change) => engine.changeAddresses(name, change),
    connections: openConnections({ engine, rules, meters }),
    paths: openPaths({ ...options, ...parts, mayProbeIdle: () => limits().idleProbe }),
    dial: openAgentDial({ ...options, engine, rules, guardrails: () => limits().guardrails }),
    exits: openExits(() => limits().exits),
    get codec() {
      return codec()
    }
  }
}

/** Returns the handlers of the plugins, and that of the inventory. */
function bindAll(plugins: readonly AgentPlugin[], objects: ManagedObjects, call: AgentCall): BoundHandler[] {
  const inventory = respond(Inventory, async (_: AgentCall, { after }) => objects.inventory(after))
  return bindHandlers([inventory, ...plugins.flatMap(({ handlers }) => handlers ?? [])], () => call)
}

/** Returns a function that samples the engine and records the sample in the journal. */
const sampler =
  (engine: Pick<Engine, 'sample'>, journal: Journal, clock: Clock): AgentCall['takeSample'] =>
  () => {
    const sampledAt = clock.monotonic() - countingDelayMs
    const sample = engine.sample()
    journal.tick(sample.rules, sampledAt)
    return sample
  }

/** Opens the journal and the server's time. Calls `reconsider` if a correction moves the time back. */
function openTimedJournal(
  { clock, log, boot }: AgentOptions,
  db: StateDatabase,
  defer: (release: Release) => void,
  reconsider: () => void
) {
  const untimed = openJournal({ db, clock, log, boot })
  defer(() => untimed.close())
  const time = openAgentTime({ clock, journal: untimed })
  defer(time.stop)
  const journal: Journal = {
    ...untimed,
    setServerTime(...at) {
      if (time.correct(() => untimed.setServerTime(...at))) reconsider()
    }
  }
  return { journal, time }
}

/** Locks the state directory and opens its databases. */
function openDatabases(stateDir: string, defer: (release: Release) => void) {
  defer(lockStateDir(stateDir))
  const db = openStateDatabase(stateDir)
  defer(() => void db.close())
  const journalDb = openStateDatabase(stateDir, 'normal')
  defer(() => void journalDb.close())
  const setLockWaits = (ms: number): void => {
    for (const each of [db, journalDb]) each.setLockWait(ms)
  }
  return { db, journalDb, setLockWaits }
}

/** Throws where a message of a plugin and its .proto differ. */
export function openAgentCodec(plugins: readonly AgentPlugin[]): Codec {
  const messages = plugins.flatMap(messagesOf)
  return openCodec([...wireMessages, ...controlMessages, ...pinMessages, ...endpointMessages, ...messages])
}

/** Returns the receiver of engine events. Plugins get an event first: after 'closed' its rule cannot be found. */
function openDispatch(
  { resolver, clock, log }: AgentOptions,
  plugins: PluginSet,
  { engine, dials, rules, call }: Pick<CallParts, 'engine' | 'dials' | 'rules'> & { readonly call: AgentCall }
): (event: EngineEvent) => void {
  const logEvent = openEngineLog(rules, clock, log)
  return event => {
    for (const plugin of plugins.all) plugin.event?.(event, call)
    logEvent(event)
    if (event.kind === 'resolve') {
      const owner = rules.find(event.ruleId)?.owner ?? ''
      resolver.resolve(event.host, owner).then(answer => engine.resolved(event.token, answer))
    } else if (event.kind === 'dial') {
      void dials.request(event)
    } else if (event.kind === 'dial-canceled') {
      dials.cancel(event)
    } else if (event.kind === 'closed') {
      call.journal.recordFinal(event.counters)
      rules.ended(event.counters.ruleId)
    }
  }
}
