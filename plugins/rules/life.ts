// What becomes of a rule, in the transaction of its cause; what there is to log of it comes after the commit.
import type { EntityManager } from '@mikro-orm/sql'
import type { Kernel } from '../../kernel/plugin.ts'
import { fieldNotLoaded } from './encoding.ts'
import { Rule, type State } from './entities.ts'
import { removedSlot, type StateChange, stateSlot } from './exports.ts'
import { shapeNotLoaded } from './fields.ts'
import { ruleKind } from './wire.ts'

/** To be called once the transaction has been committed. */
export type AfterCommit = () => void

export function runAll(notices: readonly AfterCommit[]): void {
  for (const notice of notices) notice()
}

interface Standing {
  readonly state: State
  readonly code?: string // why; null in the store when there is none
  readonly error?: string // for the log alone
}

export const objectKeyOf = ({ clientId, id }: Pick<Rule, 'clientId' | 'id'>) => ({
  clientId,
  kind: ruleKind,
  id
})

/** A part of it is missing: it comes back when the part does. */
const isPart = (code: string): boolean => [fieldNotLoaded.code, shapeNotLoaded.code].includes(code)

export const lacksPart = ({ state, stateReason }: Rule): boolean =>
  state === 'failed' && isPart(stateReason ?? '')

/** Shall it be on the agent? One that failed at create is not tried again. */
export const belongsOnAgent = (rule: Rule): boolean =>
  rule.state !== 'failed' || (rule.activatedAt != null && !lacksPart(rule))

export type RuleStates = ReturnType<typeof openRuleStates>

export function openRuleStates({
  control,
  clock,
  log,
  filled
}: Pick<Kernel, 'control' | 'clock' | 'log' | 'filled'>) {
  const nothing: AfterCommit = () => {}

  async function enter(rule: Rule, { state, ...why }: Standing, em: EntityManager): Promise<AfterCommit> {
    const { code = null } = why
    if (rule.state === state && (rule.stateReason ?? null) === code) return nothing
    const now = clock.now()
    const activatedAt = rule.activatedAt ?? (state === 'active' ? now : null)
    const entered = { state, stateReason: code, stateChangedAt: now, updatedAt: now, activatedAt }
    const { id, clientId, owner } = rule
    await em.nativeUpdate(Rule, { id }, entered)
    await tell({ id, clientId, owner, state, reason: code }, em)
    const fields = { rule: id, client: clientId, ...why }
    return () => log.info(`rule.${state}`, `the rule is ${state}`, fields)
  }

  /** Whoever listens cannot keep a rule from its state: what one that fails has written is undone, with nothing else. */
  async function tell(became: StateChange, em: EntityManager): Promise<void> {
    for (const { by, value: told } of filled(stateSlot))
      await em
        .transactional(em => told(became, em))
        .catch((error: unknown) => {
          const { id: rule, clientId: client, state } = became
          const stack = error instanceof Error ? error.stack : String(error)
          log.error('rule.listener_failed', `plugin ${by} was not told that the rule is ${state}`, {
            rule,
            client,
            plugin: by,
            error: stack
          })
        })
  }

  /** One that was active stays on its client, to be tried again, unless a part of it is missing. */
  async function fail(
    rule: Rule,
    why: { code: string; error?: string },
    em: EntityManager
  ): Promise<AfterCommit> {
    const notice = await enter(rule, { state: 'failed', ...why, code: why.code.slice(0, 64) }, em)
    if (rule.activatedAt == null) await control.objects.forget(em, objectKeyOf(rule))
    else if (isPart(why.code)) await control.objects.drop(em, objectKeyOf(rule), 'cut')
    return notice
  }

  /** The only way in which a row goes. */
  async function remove({ id, clientId, owner }: Rule, em: EntityManager): Promise<AfterCommit> {
    for (const { value: removed } of filled(removedSlot)) await removed({ id, clientId, owner }, em)
    await em.nativeDelete(Rule, { id })
    return () => log.info('rule.removed', 'the rule is gone', { rule: id, client: clientId })
  }

  return { enter, fail, remove }
}
