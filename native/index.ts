// Implements the engine contract with the native addon: C++ threads, for Linux.
import { availableParallelism } from 'node:os'
import { checkBalance } from '../agent/engine/balance.ts'
import { checkDialFrom } from '../agent/engine/dial-from.ts'
import { checkDialAnswer, type DialCaller } from '../agent/engine/dial-request.ts'
import { checkDiverts } from '../agent/engine/divert.ts'
import {
  defaultDeadPeerMs,
  type Engine,
  type EngineEvent,
  type EngineOptions
} from '../agent/engine/engine.ts'
import { checkDialers } from '../agent/engine/engine-target.ts'
import { checkFirstRead } from '../agent/engine/first-read.ts'
import { connectionSorts } from '../agent/engine/open-connection.ts'
import { checkPreamble } from '../agent/engine/preamble.ts'
import { eventKinds, type NativeEngine, type NativeEvent, type NativeModule } from './bridge.ts'
import { openDialedStreams } from './dialed-streams.ts'
import { loadModule } from './load.ts'
import { healths, type ReasonOf, readConnections, readCounters, readEnded, readSample } from './sample.ts'

export type NativeStatus =
  | { readonly ok: true; readonly openEngine: (options: EngineOptions) => Engine; readonly from: string }
  | { readonly ok: false; readonly reason: string }

const maxThreads = 4

/** Loads the addon. Does not throw: without a binary it returns the reason, and the portable engine runs. */
export function loadNative(): NativeStatus {
  const loaded = loadModule()
  if (!loaded.ok) return loaded
  const { module, from } = loaded
  return { ok: true, openEngine: options => openNativeEngine(module, options), from }
}

export function openNativeEngine({ NativeEngine }: NativeModule, options: EngineOptions): Engine {
  const { bind, onEvents, splice = 'on', deadPeerMs = defaultDeadPeerMs } = options
  const threads = Math.max(1, options.threads ?? Math.min(availableParallelism(), maxThreads))
  const native: NativeEngine = new NativeEngine(
    { bind, threads, splice: splice === 'on', deadPeerMs },
    batch => {
      const events = batch.filter(event => !streams.handle(event))
      if (events.length > 0) onEvents(events.map(event => translate(event, reasonOf)))
    }
  )
  const streams = openDialedStreams(native)
  const reasonOf = cachedReasons(native)
  let isStopped = false
  let serving: Promise<void> | null = null // settles when the rules opened in this turn of the event loop are served

  const serveNextTurn = () =>
    new Promise<void>(resolve =>
      setImmediate(() => {
        serving = null
        if (!isStopped) native.serveOpened()
        resolve()
      })
    )

  return {
    async open(rule, replaces) {
      if (isStopped) throw stopped(rule.from)
      if (rule.dialFrom) checkDialFrom(rule.dialFrom)
      if (rule.firstRead) checkFirstRead(rule.firstRead)
      if (rule.preamble) checkPreamble(rule.preamble)
      if (rule.balance) checkBalance(rule.balance, rule)
      checkDiverts(rule)
      checkDialers(rule)
      native.open({ ...rule, replaces })
      serving ??= serveNextTurn()
      await serving
    },
    async close(ruleId, drainMs) {
      if (!isStopped) native.close(ruleId, drainMs ?? -1)
    },
    resetTargets: (ruleId, targets) => native.resetTargets(ruleId, targets),
    reset: (ruleId, keep) => native.reset(ruleId, keep?.from ?? 1, keep?.to ?? 0),
    setFilters: (ruleId, filters) => native.setFilters(ruleId, filters),
    changeAddresses: (name, { add, remove }) => native.changeAddresses(name, add, remove),
    guardRefusal: (ruleId, address) => reasonOf(native.guardRefusal(ruleId, address)) || null,
    divertOf: (ruleId, address) => native.divertOf(ruleId, address) || null,
    setWeights: (ruleId, weights) => native.setWeights(ruleId, weights),
    setShares: (ruleId, shares) => native.setShares(ruleId, shares),
    setMeter: (id, meter) => native.setMeter(id, meter),
    setBudget: (meterId, budget) => native.setBudget(meterId, budget),
    connections(query) {
      if (isStopped) return { matched: 0, bytesIn: 0, bytesOut: 0, rows: [] }
      const { row, text } = native.connections({ ...query, sortIndex: connectionSorts.indexOf(query.sort) })
      return readConnections(row, text)
    },
    endConnections: selection => (isStopped ? 0 : native.endConnections(selection)),
    reserveDescriptor(owner) {
      const reservation = isStopped ? 0 : native.reserveDescriptor(owner)
      return reservation === 0 ? null : () => isStopped || native.releaseDescriptor(reservation)
    },
    removeMeter: id => native.removeMeter(id),
    resolved(token, answer) {
      if (!isStopped) native.resolved(token, answer)
    },
    async dialed(token, answer) {
      checkDialAnswer(answer)
      return isStopped ? null : streams.answer(token, answer)
    },
    sample: () => readSample(native.sample(), reasonOf),
    async stop() {
      if (isStopped) return
      isStopped = true
      native.stop()
      streams.stop()
    }
  }
}

const stopped = (port: number) =>
  Object.assign(new Error(`port ${port} is not opened: the engine has stopped`), { code: 'ESTOPPED' })

/** Caches the reason names; asks the addon again only for an unknown number. */
function cachedReasons(native: NativeEngine): ReasonOf {
  let names: readonly string[] = []
  return reason => {
    if (reason >= names.length) names = native.reasons()
    return names[reason] ?? ''
  }
}

function translate(event: NativeEvent, reasonOf: ReasonOf): EngineEvent {
  const { id, target, value, otherValue, text, reason, from, to, row = new Float64Array() } = event
  const kind = eventKinds[event.kind]
  if (kind === undefined)
    throw new RangeError(`the native engine sent an event of unknown kind ${event.kind}`)
  const health = (state: number) => healths[state] ?? 'unknown'
  switch (kind) {
    case 'resolve':
      return { kind, token: value, ruleId: id, host: text }
    case 'dial':
      return { kind, token: value, ruleId: id, target, offset: otherValue, caller: readDialCaller(text) }
    case 'dial-canceled':
      return { kind, token: value }
    case 'closed':
      return { kind, counters: readCounters(row, reasonOf) }
    case 'dns-failed':
      return { kind, ruleId: id, host: text, reason }
    case 'flow-evicted':
      return { kind, ruleId: id, target, errno: text }
    case 'flow-redialed':
      return { kind, ruleId: id, from: target, to: value, addresses: [text, reason] }
    case 'target-health':
      return { kind, ruleId: id, target, from: health(from), to: health(to), reason }
    case 'meter-empty':
      return { kind, meterId: id }
    case 'splice-selected':
      return { kind, ruleId: id }
    case 'splice-unsupported':
      return { kind, ruleId: id, errno: text }
    case 'pipe-size':
      return { kind, requestedBytes: value, actualBytes: otherValue, errno: text, limit: reason }
    case 'source-over':
      return { kind, ruleId: id, source: text, limit: reason }
    case 'connections-ended':
      return { kind, ended: readEnded(row, text, reasonOf), lost: value }
    case 'dialed':
    case 'stream-reset':
      throw new TypeError(`the event ${kind} is for the streams of dialers`)
  }
}

/** Reads the lines of `write_dial_caller`. */
function readDialCaller(text: string): DialCaller | null {
  if (text === '') return null
  const [source = '', sourcePort, listen = '', listenPort, serverName] = text.split('\n')
  return {
    source: { address: source, port: Number(sourcePort) },
    listen: { address: listen, port: Number(listenPort) },
    serverName: serverName || null
  }
}
