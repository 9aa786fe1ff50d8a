// Reports the health of targets to the server: all of it once for a stream, then what has changed.
import type { AgentCall, ControlStream, RuleSpec } from '../../agent/plugin.ts'
import type { IdleProbes, Runs } from './idle-probes.ts'
import { closedTarget, reportTarget } from './reported-target.ts'
import { Health, maxRulesOfMessage, type RuleHealth, targetsMark } from './wire.ts'

const minuteMs = 60_000
const probedMs = 5 * minuteMs // of rules without traffic: their probes succeed all the time

interface Reported {
  readonly health: string
  readonly successes: string
  readonly at: number
}

type Probes = Pick<IdleProbes, 'find'>

/** Returns a function that reports rules with changed health. Successes alone wait, because each connection is one. */
export function openReporter(stream: ControlStream, call: AgentCall, probes: Probes): (runs: Runs) => void {
  let reported = new Map<string, Reported>()

  return runs => {
    if (stream.signal.aborted) return
    const health = healthOf(runs, call, probes)
    for (const rule of portsClosed(runs, reported, call)) health.set(rule.rule_id, rule)
    const now = call.clock.monotonic()
    const current = new Map([...health].map(([id, rule]) => [id, nextReport(rule, reported.get(id), now)]))
    const changed = [...health.values()].filter(({ rule_id: id }) => current.get(id) !== reported.get(id))
    reported = new Map([...current].filter(([id]) => runs.has(id))) // a closed port is reported once
    for (let at = 0; at < changed.length; at += maxRulesOfMessage)
      stream.send(Health, { rules: changed.slice(at, at + maxRulesOfMessage) })
  }
}

/** Returns the health of each rule by its id. */
export function healthOf(runs: Runs, call: AgentCall, probes: Probes): Map<string, RuleHealth> {
  const closed = call.rules.closed()
  return new Map(
    [...runs].map(([id, { spec, counters }]) => {
      const standings = call.rules.standings(id)
      const targets = counters.targets.map((target, at) => {
        const standing = standings[at]
        if (closed.has(id)) return closedTarget(standing)
        return reportTarget(spec, {
          counters: target,
          standing,
          probed: at === 0 ? probes.find(id) : undefined
        })
      })
      return [id, ruleHealth(spec, targets)]
    })
  )
}

/** Returns the rules that have closed their port since the last report: they have no run. */
function portsClosed(runs: Runs, reported: ReadonlyMap<string, Reported>, call: AgentCall): RuleHealth[] {
  return [...call.rules.closed().keys()].flatMap(id => {
    const spec = !runs.has(id) && reported.has(id) ? call.paths.find(id)?.spec : undefined
    return spec ? [ruleHealth(spec, call.rules.standings(id).map(closedTarget))] : []
  })
}

const ruleHealth = (spec: RuleSpec, targets: RuleHealth['targets']): RuleHealth => ({
  rule_id: spec.id,
  targets,
  targets_mark: targetsMark(spec.targets)
})

/** Returns `last` if there is nothing to report, else the new report. */
function nextReport(
  { targets, targets_mark }: RuleHealth,
  last: Reported | undefined,
  now: number
): Reported {
  const health = JSON.stringify([targets_mark, targets.map(({ last_success_ms: _, ...rest }) => rest)])
  const successes = JSON.stringify(targets.map(({ last_success_ms: ms }) => ms))
  const waitMs = targets.every(({ source }) => source === 'probe') ? probedMs : minuteMs
  const isSame = last?.health === health && (last.successes === successes || now - last.at < waitMs)
  return isSame ? last : { health, successes, at: now }
}
