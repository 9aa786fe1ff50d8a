// Transitions of a rule's state, in the transaction of their cause. Each returns an action for after the commit.
//
//   (create) -> pending -> active        the agent has opened the rule; a paused one is paused
//                          active <-> paused   the agent has applied a change
//               pending -> failed        refused at create: final
//                  active, paused <-> failed   refused later: the agent retries
//   any of these -> draining             removed while its client is connected; otherwise its row is deleted
//   draining -> (row deleted)            the agent has closed the port, and live connections have ended
//   any but a final failed -> failed -> pending   the plugin of a field or shape was not loaded, and is loaded again
import type { EntityManager } from '@mikro-orm/sql'
import type { Kernel } from '../../../kernel/plugin.ts'
import { withoutVeto } from '../../http/exports.ts'
import { isGroupRule, nothingPending, RefusedMember, Rule, type State } from '../entities.ts'
import { fieldNotLoaded, shapeNotLoaded } from '../fields/requirements.ts'
import type { AddJournalEntry, JournalEntry } from '../journal-entry.ts'
import { removedSlot, type StateChange, stateSlot } from '../slots.ts'
import { ruleKind } from '../wire.ts'
import type { ClosedRules } from './closed-rules.ts'

/** Logs, and wakes agents. Call it after the commit of the transaction, and only then. */
export type AfterCommit = () => void

export function runAll(actions: readonly AfterCommit[]): void {
  for (const action of actions) action()
}

interface NewState {
  readonly state: State
  readonly code?: string // the reason
  readonly error?: string // for the log only
}

export const objectKeyOf = ({ clientId, id }: Pick<Rule, 'clientId' | 'id'>) => ({
  clientId,
  kind: ruleKind,
  id
})

const isMissingPart = (code: string): boolean => [fieldNotLoaded.code, shapeNotLoaded.code].includes(code)

/** True for a rule that failed because the plugin of a field or shape is not loaded, or a field lost its value. */
export const lacksPart = ({ state, stateReason }: Rule): boolean =>
  state === 'failed' && isMissingPart(stateReason ?? '')

/** True if a failing rule must be removed from its agent, which may have the definition from before a refused change. */
const mustLeaveAgent = ({ activatedAt, existing }: Rule, code: string): boolean =>
  activatedAt == null ? existing != null : isMissingPart(code)

/** True if the agent must have the rule. It does not retry a rule that failed at create. */
export const belongsOnAgent = (rule: Rule): boolean =>
  rule.state !== 'failed' || (rule.activatedAt != null && !lacksPart(rule))

/** True for a rule that its agent has applied. */
export const isInForce = ({ state }: Pick<Rule, 'state'>): boolean => state === 'active' || state === 'paused'

/** Returns the state of a rule that its agent has applied. */
export const stateInForce = ({ paused }: Pick<Rule, 'paused'>): State => (paused ? 'paused' : 'active')

const parentField = ({ parent }: Rule) => (parent == null ? {} : { parent })

/** For a member, the entry is about its group rule. */
const stateEntry = (
  rule: Rule,
  to: { readonly state: State; readonly code: string | null }
): JournalEntry => ({
  about: { rule: rule.parent ?? rule.id },
  kind: 'state',
  from: rule.state,
  to: to.state,
  cause: to.code,
  ...(rule.parent != null && { details: { client_id: rule.clientId } })
})

export interface RuleStates {
  /** Stores a new state, adds a journal entry, and calls the listeners of the state. */
  enter(rule: Rule, state: NewState, em: EntityManager): Promise<AfterCommit>
  /** Marks a rule failed. A rule that was active stays on its client, which retries it, unless a plugin is missing. */
  fail(
    rule: Rule,
    why: { readonly code: string; readonly error?: string },
    em: EntityManager
  ): Promise<AfterCommit>
  /** Deletes the row of a rule, and its group rule if that is draining and has no other member. */
  remove(rule: Rule, em: EntityManager): Promise<AfterCommit>
  /** Deletes rules like `remove`. 'cut': connections through their derived objects are reset. */
  removeAll(rules: readonly Rule[], removal: 'drain' | 'cut', em: EntityManager): Promise<AfterCommit>
}

interface PartRemoval {
  /** Removes the derived objects of rules. */
  drop(
    rules: readonly Pick<Rule, 'id'>[],
    which: 'all',
    removal: 'drain' | 'cut',
    em: EntityManager
  ): Promise<void>
}

interface Options extends Pick<Kernel, 'control' | 'clock' | 'log' | 'filled'> {
  readonly closedRules: Pick<ClosedRules, 'forget'>
  readonly parts: PartRemoval
  readonly addJournalEntry: AddJournalEntry
}

export function openRuleStates(options: Options): RuleStates {
  const { control, clock, log, filled, addJournalEntry, parts } = options

  async function enter(rule: Rule, { state, ...why }: NewState, em: EntityManager): Promise<AfterCommit> {
    const { code = null } = why
    if (rule.state === state && (rule.stateReason ?? null) === code) return () => {}
    const now = clock.now()
    const activatedAt = rule.activatedAt ?? (isInForce({ state }) ? now : null)
    const { id, clientId, owner } = rule
    const parent = parentField(rule)
    const times = { stateChangedAt: now, updatedAt: now, activatedAt }
    await em.nativeUpdate(Rule, { id }, { state, stateReason: code, ...times })
    await addJournalEntry(stateEntry(rule, { state, code }), em)
    await notifyListeners({ id, ...parent, clientId, owner, from: rule.state, state, reason: code }, em)
    const fields = { rule: id, rule_name: rule.name ?? undefined, client: clientId, ...parent, ...why }
    return () => log.info(`rule.${state}`, `the rule is ${state}`, fields)
  }

  /** A listener cannot prevent the change: if it throws, only its own writes are rolled back. */
  async function notifyListeners(change: StateChange, em: EntityManager): Promise<void> {
    const { id: rule, clientId: client, state } = change
    for (const { by: plugin, value: listen } of filled(stateSlot))
      await withoutVeto(
        em,
        em => listen(change, em),
        error => {
          const message = `plugin ${plugin} failed to handle that the rule is ${state}`
          log.error('rule.listener_failed', message, { rule, client, plugin, error })
        }
      )
  }

  async function fail(
    rule: Rule,
    why: { code: string; error?: string },
    em: EntityManager
  ): Promise<AfterCommit> {
    const afterCommit = await enter(rule, { state: 'failed', ...why, code: why.code.slice(0, 64) }, em)
    if (rule.existing != null) await em.nativeUpdate(Rule, { id: rule.id }, nothingPending)
    const isDropped = mustLeaveAgent(rule, why.code)
    if (isDropped) await control.objects.drop(em, objectKeyOf(rule), 'cut')
    else if (rule.activatedAt == null) await control.objects.forget(em, objectKeyOf(rule))
    if (rule.activatedAt == null) await parts.drop([rule], 'all', 'cut', em)
    return () => {
      afterCommit()
      if (isDropped) control.objects.wake(rule.clientId)
    }
  }

  return { enter, fail, ...openDeletion(options) }
}

/** The only place that deletes rows of rules. */
function openDeletion({
  log,
  filled,
  closedRules,
  parts
}: Pick<Options, 'log' | 'filled' | 'closedRules' | 'parts'>): Pick<RuleStates, 'remove' | 'removeAll'> {
  const remove = (rule: Rule, em: EntityManager): Promise<AfterCommit> => removeAll([rule], 'drain', em)

  async function removeAll(rules: readonly Rule[], removal: 'drain' | 'cut', em: EntityManager) {
    await parts.drop(rules, 'all', removal, em)
    const actions: AfterCommit[] = []
    for (const rule of rules) actions.push(await deleteRow(rule, em))
    return () => runAll(actions)
  }

  async function deleteRow(rule: Rule, em: EntityManager): Promise<AfterCommit> {
    const { id, clientId, owner, parent } = rule
    for (const { value: removed } of filled(removedSlot))
      await removed({ id, ...parentField(rule), clientId, owner }, em)
    await em.nativeDelete(Rule, { id })
    if (isGroupRule(rule)) await em.nativeDelete(RefusedMember, { parent: id })
    const removeGroupRule = parent ? await removeEmptied(parent, em) : () => {}
    return () => {
      closedRules.forget({ id, clientId })
      const fields = { rule: id, rule_name: rule.name ?? undefined, client: clientId, ...parentField(rule) }
      log.info('rule.removed', 'the rule is deleted', fields)
      removeGroupRule()
    }
  }

  /** Deletes a draining group rule once it has no members. */
  async function removeEmptied(id: string, em: EntityManager): Promise<AfterCommit> {
    if ((await em.count(Rule, { parent: id })) > 0) return () => {}
    const groupRule = await em.findOne(Rule, { id, state: 'draining' })
    return groupRule ? remove(groupRule, em) : () => {}
  }

  return { remove, removeAll }
}
