import { type Static, Type } from 'typebox'
import { limitReached, notOwner } from '../../../kernel/base/errors.ts'
import { defineRoute } from '../../../kernel/http/route.ts'
import { closed } from '../../../kernel/http/schema.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { type ChangeEach, defineList, listFilterSlots, listFilters } from '../../http/exports.ts'
import { type Edit, liveEdit } from '../changes/edit.ts'
import type { RulesService } from '../rules.ts'
import type { Change } from '../services.ts'
import { BulkReply, bulkBody, changeMany, maxChanged } from './bulk-change.ts'
import {
  createErrors,
  existingErrors,
  patchErrors,
  replaceErrors,
  updateErrors,
  waitingErrors
} from './route-errors.ts'
import type { RuleRecord } from './rule-record.ts'
import { ruleResource } from './rule-resource.ts'
import {
  ChangeQuery,
  createBody,
  definitionBody,
  Filter,
  patchBody,
  RuleParams,
  ruleRecord,
  updateBody,
  Wait
} from './schema.ts'

export interface RouteDeps extends Pick<Kernel, 'store'> {
  readonly rules: RulesService
  readonly changeEach: ChangeEach
}

const definitionBytes = 128 * 1024 // with 1,000 clients and lists of sources
const recordBytes = 320 * 1024 // the states on 1,000 clients as well: a record may be sent back

type RuleCall = Change & { readonly params: Static<typeof RuleParams> }

async function changeAndRead({ rules }: RouteDeps, call: RuleCall, edit: Edit): Promise<RuleRecord> {
  const id = call.params.rule_id
  await rules.change(id, edit, call)
  return rules.read(id, call.principal)
}

/** Answers a repeated request with the current record. */
const replay = ({ rules }: RouteDeps, { principal }: Pick<Change, 'principal'>, id: string) =>
  rules.read(id, principal)

const create = defineRoute({
  method: 'POST',
  url: '/v1/rules',
  action: 'rule.create',
  access: 'user',
  bodyBytes: definitionBytes,
  status: 201,
  summary: 'Creates a rule.',
  description:
    'Answers when the client forwards it. If the client does not answer in time (504), the rule stays, and reaches its state later.',
  outcome: 'deferred',
  schema: filled => ({
    query: Wait,
    body: createBody(filled),
    reply: ruleRecord(filled),
    errors: createErrors(filled)
  }),
  run: ({ rules }: RouteDeps, call) => rules.create(call.body, call.query.ack_timeout_secs, call),
  replay
})

const list = defineList({
  url: '/v1/rules',
  action: 'rule.list',
  access: 'user',
  summary: 'Lists rules.',
  description: 'Rules that the caller owns; all rules for superadmins, operators and viewers.',
  schema: filled => ({
    query: Type.Unsafe<Filter>(
      closed({ ...Filter.properties, ...listFilters.parameters(filled(listFilterSlots.rule)) })
    ),
    row: ruleRecord(filled),
    errors: [notOwner, ...listFilters.errors(filled(listFilterSlots.rule))]
  }),
  run: async ({ rules }: RouteDeps, { query, principal }) => rules.list(query, principal)
})

const read = defineRoute({
  method: 'GET',
  url: '/v1/rules/:rule_id',
  action: 'rule.read',
  access: 'user',
  summary: 'Returns one rule.',
  schema: filled => ({ params: RuleParams, reply: ruleRecord(filled), errors: existingErrors }),
  record: ({ rule_id: id }, filled) => ruleResource(id, filled),
  run: ({ rules }: RouteDeps, { params, principal }) => rules.read(params.rule_id, principal)
})

const update = defineRoute({
  method: 'PUT',
  url: '/v1/rules/:rule_id',
  action: 'rule.update',
  access: 'user',
  bodyBytes: recordBytes,
  summary: 'Changes a rule while it runs.',
  description:
    'Changes `rate_limit`, and answers when the client has applied it. The body is the whole rule, or `rate_limit` alone; everything else must be as the rule has it.',
  outcome: 'deferred',
  schema: filled => ({
    params: RuleParams,
    query: Wait,
    body: updateBody(filled),
    reply: ruleRecord(filled),
    errors: updateErrors(filled)
  }),
  run: (deps: RouteDeps, call) =>
    changeAndRead(deps, call, { mode: 'hot', body: call.body, ackSecs: call.query.ack_timeout_secs }),
  replay
})

const replace = defineRoute({
  method: 'PUT',
  url: '/v1/rules/:rule_id/definition',
  action: 'rule.replace',
  access: 'user',
  bodyBytes: definitionBytes,
  summary: 'Replaces the definition of a rule.',
  description:
    'Replaces everything except client, owner, protocol and ports. The old definition stays in force until the client has the new one.',
  outcome: 'deferred',
  schema: filled => ({
    params: RuleParams,
    query: Wait,
    body: definitionBody(filled),
    reply: ruleRecord(filled),
    errors: replaceErrors(filled)
  }),
  run: (deps: RouteDeps, call) =>
    changeAndRead(deps, call, { mode: 'replace', body: call.body, ackSecs: call.query.ack_timeout_secs }),
  replay
})

const patch = defineRoute({
  method: 'PATCH',
  url: '/v1/rules/:rule_id',
  action: 'rule.patch',
  access: 'user',
  bodyBytes: recordBytes,
  summary: 'Edits a rule while it runs.',
  description:
    'A JSON Merge Patch (RFC 7396): changes everything except client, protocol and owner, and keeps live connections. Answers when the client has applied it; an offline client applies it when it reconnects.',
  outcome: 'deferred',
  schema: filled => ({
    params: RuleParams,
    query: ChangeQuery,
    body: patchBody(filled),
    reply: ruleRecord(filled),
    errors: patchErrors(filled)
  }),
  run: (deps: RouteDeps, call) => changeAndRead(deps, call, liveEdit(call.body, call.query)),
  replay
})

const pausing = (verb: 'pause' | 'resume', summary: string) =>
  defineRoute({
    method: 'POST',
    url: `/v1/rules/:rule_id/${verb}`,
    action: `rule.${verb}`,
    access: 'user',
    status: 204,
    summary,
    outcome: 'deferred',
    schema: filled => ({
      params: RuleParams,
      query: ChangeQuery,
      reply: Type.Void(),
      errors: patchErrors(filled)
    }),
    run: ({ rules }: RouteDeps, call) =>
      rules.change(call.params.rule_id, liveEdit({ paused: verb === 'pause' }, call.query), call)
  })

const pause = pausing('pause', 'Closes the port of a rule, and keeps the port for it.')
const resume = pausing('resume', 'Opens the port of a paused rule again.')

const remove = defineRoute({
  method: 'DELETE',
  url: '/v1/rules/:rule_id',
  action: 'rule.delete',
  access: 'user',
  status: 204,
  summary: 'Deletes a rule.',
  description: 'Closes the port; live connections may drain. Answers when the client has closed it.',
  outcome: 'deferred',
  schema: () => ({ params: RuleParams, query: Wait, reply: Type.Void(), errors: waitingErrors }),
  run: ({ rules }: RouteDeps, call) => rules.remove(call.params.rule_id, call.query.ack_timeout_secs, call)
})

const bulk = defineRoute({
  method: 'POST',
  url: '/v1/rules/bulk',
  action: 'rule.bulk',
  access: 'user',
  bodyBytes: definitionBytes + 32 * 1024, // a patch, and the ids
  summary: 'Changes many rules.',
  description: `Pauses, resumes, deletes or patches up to ${maxChanged} rules, each alone or all together, and answers when their clients have. Each change has an entry in the audit log, with the id of this request.`,
  outcome: 'deferred',
  schema: filled => ({
    body: bulkBody(filled),
    query: ChangeQuery,
    reply: BulkReply,
    errors: [...[limitReached, ...patchErrors(filled)], ...listFilters.errors(filled(listFilterSlots.rule))]
  }),
  isTrial: ({ body }) => body.dry_run === true,
  run: (deps: RouteDeps, call) => changeMany(deps, call)
})

export const routes = [create, list, read, update, patch, pause, resume, replace, remove, bulk]
