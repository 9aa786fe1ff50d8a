// Changes many rules with one request, chosen by ids or by filters of their list.
import { type Static, Type } from 'typebox'
import { Fault, invalidSchema, limitReached } from '../../../kernel/base/errors.ts'
import type { Call } from '../../../kernel/http/route.ts'
import { closed } from '../../../kernel/http/schema.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import type { SlotReader } from '../../../kernel/slot.ts'
import {
  type ChangeEach,
  listFilterSlots,
  listFilters,
  type Part,
  PartRefused,
  type PartResult
} from '../../http/exports.ts'
import { defaultAckSecs } from '../changes/client-answers.ts'
import { liveEdit } from '../changes/edit.ts'
import { requireEditable } from '../changes/judge-edit.ts'
import type { RulesService } from '../rules.ts'
import { RuleId, type Values } from './rule-record.ts'
import { bulkPatch, type ChangeQuery, type PatchBody } from './schema.ts'

export const maxChanged = 1000

const Bulk = Type.Object({
  ids: Type.Optional(Type.Array(RuleId, { description: `rule_ids, at most ${maxChanged}.`, minItems: 1 })),
  action: Type.Union(
    ['pause', 'resume', 'delete', 'patch'].map(action => Type.Literal(action)),
    { description: 'What to do with each rule.', examples: ['pause'] }
  ),
  dry_run: Type.Optional(Type.Boolean({ description: 'Check every change, and make none.', default: false })),
  atomic: Type.Optional(
    Type.Boolean({
      description: 'Change all rules or none: the reply is the first refusal.',
      default: false
    })
  )
})
type Bulk = Static<typeof Bulk> & { readonly patch?: PatchBody } & Values

/** Other plugins add filters to choose rules, such as `selector`. */
export const bulkBody = (filled: SlotReader) => {
  const { ids, ...options } = Bulk.properties
  const choosing = listFilters.parameters(filled(listFilterSlots.rule))
  const patch = Type.Optional(bulkPatch(filled))
  return Type.Unsafe<Bulk>(
    closed(
      { ids, ...choosing, ...options, patch },
      { $id: 'BulkChange', examples: [{ ids: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NB'], action: 'pause' }] }
    )
  )
}

export const BulkReply = closed(
  {
    matched: Type.Integer({ description: 'Rules that were chosen.', examples: [1] }),
    results: Type.Array(
      closed({
        rule_id: RuleId,
        rule_name: Type.Optional(
          Type.String({
            description: 'Name of the rule before the change, if it had one.',
            examples: ['web']
          })
        ),
        status: Type.Integer({
          description: 'HTTP status that the single call would have.',
          examples: [204]
        }),
        error: Type.Optional(
          Type.Object(
            {
              code: Type.String({ description: 'Code of the refusal.' }),
              message: Type.String({ description: 'What is wrong, and what to do.' }),
              details: Type.Optional(
                Type.Record(Type.String(), Type.Unknown(), {
                  description: 'As in the reply of the single call.'
                })
              )
            },
            { description: 'Why the rule is not changed.' }
          )
        )
      }),
      { description: 'In the order of the request, or of creation.' }
    )
  },
  { $id: 'BulkResult' }
)

interface Services extends Pick<Kernel, 'store'> {
  readonly rules: RulesService
  readonly changeEach: ChangeEach
}

type BulkCall = Pick<Call, 'principal' | 'requestInfo' | 'requestId' | 'change'> & {
  readonly body: Bulk
  readonly query: ChangeQuery
}

/** Throws the first refusal of an atomic change, with `details.rule_id`. */
export async function changeMany(
  { rules, changeEach, store }: Services,
  call: BulkCall
): Promise<Static<typeof BulkReply>> {
  const { body, query, requestId } = call
  if ((body.action === 'patch') !== (body.patch !== undefined))
    throw unclearRequest('/patch', 'send /patch with the action patch, and with no other')
  if (body.patch) requireEditable(body.patch)
  const ids = await selectIds(rules, call)
  if (ids.length > maxChanged) {
    const message = `${ids.length > maxChanged + 1 || body.ids ? ids.length : `more than ${maxChanged}`} rules are chosen; at most ${maxChanged} can change at once: choose fewer`
    throw new Fault(limitReached, message, { details: { limit: maxChanged } })
  }
  const names = await store.read(em => rules.loadNames(ids, em))
  const timed = { ack_timeout_secs: defaultAckSecs(ids.length), ...query }
  const parts = ids.map(id => toPart(rules, id, { ...body, query: timed }))
  const resource = { kind: 'bulk', id: requestId }
  const options = { isAtomic: body.atomic ?? false, isRehearsal: body.dry_run ?? false, resource }
  const results = await changeEach(call, parts, options).catch((error: unknown) => {
    throw error instanceof PartRefused ? withRuleId(ids[error.at] ?? '', error.fault) : error
  })
  return {
    matched: ids.length,
    results: ids.map((id, at) => toResult(id, names.get(id), parts[at]?.status ?? 200, results[at] ?? null))
  }
}

/** Returns at most one id more than can change. Filters skip rules that are being removed; ids do not. */
async function selectIds(rules: RulesService, { body, principal }: BulkCall): Promise<readonly string[]> {
  const { ids, action: _, patch: __, dry_run: ___, atomic: ____, ...filter } = body
  const isFiltered = Object.keys(filter).length > 0
  if (isFiltered === (ids !== undefined))
    throw unclearRequest(
      '/ids',
      'choose rules either by /ids or by a filter of their list, such as /selector'
    )
  if (ids) return [...new Set(ids)]
  return rules.listIds(filter, principal, maxChanged + 1)
}

const unclearRequest = (field: string, message: string): Fault =>
  new Fault(invalidSchema, message, { details: { field, reason: 'oneOf' } })

function toPart(
  rules: RulesService,
  id: string,
  { action, patch = {}, query }: Bulk & { readonly query: ChangeQuery }
): Part {
  if (action === 'delete')
    return {
      action: 'rule.delete',
      status: 204,
      run: call => rules.remove(id, query.ack_timeout_secs, call)
    }
  const body = action === 'patch' ? patch : { paused: action === 'pause' }
  const edit = liveEdit(body, query)
  return {
    action: `rule.${action}`,
    status: action === 'patch' ? 200 : 204,
    run: call => rules.change(id, edit, call)
  }
}

const toResult = (id: string, name: string | undefined, status: number, refusal: PartResult) => {
  const rule = { rule_id: id, ...(name !== undefined && { rule_name: name }) }
  if (!refusal) return { ...rule, status }
  const { errorCode, message, details } = refusal
  const error = { code: errorCode.code, message, ...(details && { details }) }
  return { ...rule, status: errorCode.http, error }
}

const withRuleId = (id: string, { errorCode, message, details, cause }: Fault): Fault =>
  new Fault(errorCode, `rule ${id}: ${message}; no rule is changed`, {
    details: { ...details, rule_id: id },
    cause
  })
