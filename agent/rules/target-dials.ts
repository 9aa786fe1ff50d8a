// Lets plugins dial the targets that have them as the planned dialer: for callers of the engine, and for probes.
import type { Clock } from '../../kernel/base/clock.ts'
import type { DialCanceled, DialRequest } from '../engine/dial-request.ts'
import type { Engine } from '../engine/engine.ts'
import type { AgentCall, AgentPlugin, Dialed, RuleSpec, TargetDial } from '../plugin.ts'
import type { ReachedTarget } from './contract.ts'
import type { Plan } from './planner.ts'

interface Options {
  readonly plugins: () => readonly AgentPlugin[]
  readonly rules: {
    /** Returns a rule of the engine as it was planned, until its last connection has ended. */
    entry(engineId: number): DialedRule | undefined
  }
  readonly engine: Pick<Engine, 'dialed'>
  readonly call: () => AgentCall
  readonly clock: Pick<Clock, 'after'>
}

interface DialedRule {
  readonly spec: RuleSpec
  readonly plan: Plan
}

export interface TargetDials {
  /** Answers a dial of the engine. */
  request(event: DialRequest): Promise<void>
  cancel(event: DialCanceled): void
  /** Dials a target without a caller, for at most `limitMs`. The connection is not used. */
  probe(rule: DialedRule, target: number, limitMs: number): Promise<ProbedDial>
}

/** Why the target is not reached; null: it is. */
export interface ProbedDial {
  readonly failure: string | null
  readonly isRefusal: boolean
  readonly reached?: ReachedTarget
}

const limitMs = 10_000
const maxReasons = 64

export function openTargetDials(options: Options): TargetDials {
  const { rules, engine } = options
  const underway = new Map<number, AbortController>() // by token
  const ask = openAsk(options)

  return {
    async request({ token, ruleId, target, offset, caller }) {
      const rule = rules.entry(ruleId)
      const planned = rule?.plan.targets[target]
      if (!rule || !planned) return // it has ended: nobody waits for the answer
      const controller = new AbortController()
      underway.set(token, controller)
      const dialed = await ask({ rule: rule.spec, target, planned, offset, caller }, controller, limitMs)
      underway.delete(token)
      if (!dialed.ok) {
        await engine.dialed(token, dialed)
        return
      }
      const { address, port } = dialed
      const stream = await engine.dialed(token, { ok: true, address, port })
      if (stream) dialed.carry(stream)
      else dialed.cancel()
    },
    cancel({ token }) {
      underway.get(token)?.abort()
    },
    async probe({ spec, plan }, target, ms) {
      const planned = plan.targets[target]
      if (!planned) throw new TypeError(`the rule has no target ${target}`)
      const dial = { rule: spec, target, planned, offset: 0, caller: null }
      const dialed = await ask(dial, new AbortController(), ms)
      cancelIfConnected(dialed)
      if (!dialed.ok) return { failure: dialed.reason, isRefusal: dialed.isRefusal }
      const { address, timing } = dialed
      return { failure: null, isRefusal: false, reached: { address, ...(timing && { timing }) } }
    }
  }
}

type Ask = (dial: Omit<TargetDial, 'signal'>, controller: AbortController, ms: number) => Promise<Dialed>

/** Returns a function that lets the plugin dial, for at most `ms`, and aborts the controller at the end of the time. */
function openAsk({ plugins, call, clock }: Options): Ask {
  const reasons = new Set<string>()

  /** Bounds the reasons, since the engine and the statistics keep each. */
  function knownReason(reason: string): string {
    if (reasons.size < maxReasons) reasons.add(reason)
    return reasons.has(reason) ? reason : 'dial_failed'
  }

  return async (dial, controller, ms) => {
    const plugin = plugins().find(({ name }) => name === dial.planned.dialer)
    if (!plugin?.dial) return { ok: false, reason: 'no_dialer', isRefusal: true }
    const { promise: late, resolve } = Promise.withResolvers<Dialed>()
    let isLate = false
    const release = clock.after(ms, () => {
      isLate = true
      controller.abort()
      resolve({ ok: false, reason: 'timeout', isRefusal: false })
    })
    const answer = plugin.dial({ ...dial, signal: controller.signal }, call()) // guarded: never rejects
    const dialed = await Promise.race([answer, late])
    void release()
    if (isLate) void answer.then(cancelIfConnected)
    return dialed.ok ? dialed : { ...dialed, reason: knownReason(dialed.reason) }
  }
}

function cancelIfConnected(dialed: Dialed): void {
  if (dialed.ok) dialed.cancel()
}
