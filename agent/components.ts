// The parts of an agent, put together and nothing begun.
import type { Static } from 'typebox'
import type { Clock } from '../kernel/base/clock.ts'
import { newId } from '../kernel/base/id.ts'
import type { Log } from '../kernel/base/log.ts'
import type { Release } from '../kernel/base/releases.ts'
import { type Codec, openCodec } from '../kernel/wire/codec.ts'
import { controlMessages, type Hello, Inventory, protocolVersion } from '../kernel/wire/control.ts'
import { type BoundHandler, bindHandlers, respond } from '../kernel/wire/message.ts'
import { wireMessages } from '../kernel/wire/rpc.ts'
import type { Engine, EngineEvent, EngineOptions, Resolved } from './engine.ts'
import { type Journal, openJournal } from './journal/journal.ts'
import { type ManagedObjects, openManagedObjects } from './objects/managed-objects.ts'
import { openObjectStore } from './objects/object-store.ts'
import { openEngineLog } from './observe/engine-log.ts'
import type { AgentCall, AgentPlugin } from './plugin.ts'
import type { Guardrails } from './rules/guardrails.ts'
import { openMeters } from './rules/meters.ts'
import { openPlanner } from './rules/planner.ts'
import { openRules, type Rules } from './rules/rules.ts'
import { lockStateDir, openStateDatabase } from './state/database.ts'
import { openRuleSettings } from './state/rule-settings.ts'

export interface AgentOptions {
  readonly plugins: readonly AgentPlugin[]
  readonly openEngine: (options: EngineOptions) => Engine
  readonly resolver: { resolve(host: string): Promise<Resolved> }
  readonly bind: readonly string[]
  readonly guardrails: Guardrails
  readonly stateDir: string
  readonly bundleFile: string
  readonly version: string
  readonly clock: Clock
  readonly log: Log
  readonly random?: () => number
}

export interface Components {
  readonly codec: Codec
  readonly engine: Engine
  readonly rules: Rules
  readonly objects: ManagedObjects
  readonly journal: Journal
  readonly call: AgentCall
  readonly handlers: readonly BoundHandler[]
  /** Writes what was counted since the last time. */
  readonly takeSample: AgentCall['takeSample']
}

const uncountedMs = 100 // from sending to counting, where a machine has more to do than it can

export function openComponents(options: AgentOptions, defer: (release: Release) => void): Components {
  const { plugins, stateDir, clock, log } = options
  defer(lockStateDir(stateDir))
  const db = openStateDatabase(stateDir)
  defer(() => void db.close())
  const journalDb = openStateDatabase(stateDir, 'normal')
  defer(() => void journalDb.close())

  const codec = openCodec([
    ...wireMessages,
    ...controlMessages,
    ...plugins.flatMap(({ messages }) => messages ?? [])
  ])
  const journal = openJournal({ db: journalDb, clock, log })
  defer(() => journal.close())
  const onEvents = (batch: readonly EngineEvent[]): void => batch.forEach(heed)
  const engine = options.openEngine({ bind: options.bind, onEvents })
  defer(engine.stop)
  const planner = openPlanner({ plugins, codec, guardrails: options.guardrails })
  const meters = openMeters(engine)
  const rules = openRules({ engine, planner, meters, journal, settings: openRuleSettings(db), log })
  const objects = openManagedObjects({
    store: openObjectStore(db),
    kinds: plugins.flatMap(({ kinds }) => kinds ?? []),
    call: () => call,
    clock,
    log
  })
  const takeSample = () => {
    // Before: what passes meanwhile may be missing in the sample, and so may what a thread that had to wait has sent.
    const at = clock.now() - uncountedMs
    const sample = engine.sample()
    journal.tick(sample.rules, at)
    return sample
  }
  const call: AgentCall = { rules, meters, takeSample, objects, journal, codec, log, clock }
  const heed = openHeeding({ ...options, engine, rules, journal, call })
  const handlers = bindHandlers(
    [
      respond(Inventory, async (_: AgentCall, { after }) => objects.stock(after)),
      ...plugins.flatMap(({ handlers }) => handlers ?? [])
    ],
    () => call
  )
  return { codec, engine, rules, objects, journal, call, handlers, takeSample }
}

type Heeding = Pick<AgentOptions, 'plugins' | 'resolver' | 'clock' | 'log'> &
  Pick<Components, 'engine' | 'rules' | 'journal' | 'call'>

/** What the engine says goes to whom it concerns; plugins see it while the rule is still known. */
function openHeeding({ plugins, resolver, engine, rules, journal, call, clock, log }: Heeding) {
  const say = openEngineLog(rules, clock, log)
  return (event: EngineEvent): void => {
    for (const plugin of plugins) plugin.event?.(event, call)
    say(event)
    if (event.kind === 'resolve') {
      resolver.resolve(event.host).then(found => engine.resolved(event.token, found))
    } else if (event.kind === 'closed') {
      journal.recordFinal(event.counters)
      rules.ended(event.counters.ruleId)
    }
  }
}

/** What Hello says beside the token: the same for all streams of one start, but for the digest. */
export function openHello(plugins: readonly AgentPlugin[], version: string) {
  const said = {
    agent_version: version,
    protocol_version: protocolVersion,
    capabilities: { versions: Object.assign({}, ...plugins.map(({ capabilities }) => capabilities ?? {})) },
    instance_id: newId()
  }
  return (state_digest: string): Omit<Static<typeof Hello.body>, 'token'> => ({ ...said, state_digest })
}
