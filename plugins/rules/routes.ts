import { Type } from 'typebox'
import { notOwner } from '../../kernel/base/errors.ts'
import { defineList } from '../../kernel/http/list-route.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import { createErrors, existingErrors, replaceErrors, updateErrors, waitingErrors } from './errors.ts'
import { resourceOf } from './resource.ts'
import type { RulesService } from './rules.ts'
import { createBody, Filter, RuleParams, ruleRecord, updateBody, Wait } from './schema.ts'

interface Deps {
  readonly rules: RulesService
}

const create = defineRoute({
  method: 'POST',
  url: '/v1/rules',
  action: 'rule.create',
  access: 'user',
  status: 201,
  summary: 'Creates a rule.',
  description:
    'Answers when the client forwards it. If no answer comes in time, the rule stays and settles by itself (504).',
  outcome: 'deferred',
  schema: filled => ({
    query: Wait,
    body: createBody(filled),
    reply: ruleRecord(filled),
    errors: createErrors(filled)
  }),
  run: ({ rules }: Deps, call) => rules.create(call.body, call.query.ack_timeout_secs, call),
  replay: ({ rules }, { principal }, id) => rules.read(id, principal)
})

const list = defineList({
  url: '/v1/rules',
  action: 'rule.list',
  access: 'user',
  summary: 'Lists rules.',
  description: 'Rules that the caller owns; all rules for a superadmin.',
  schema: filled => ({ query: Filter, row: ruleRecord(filled), errors: [notOwner] }),
  run: async ({ rules }: Deps, { query, principal }) => rules.list(query, principal)
})

const read = defineRoute({
  method: 'GET',
  url: '/v1/rules/:rule_id',
  action: 'rule.read',
  access: 'user',
  summary: 'Returns one rule.',
  schema: filled => ({ params: RuleParams, reply: ruleRecord(filled), errors: existingErrors }),
  record: ({ rule_id: id }) => resourceOf(id),
  run: ({ rules }: Deps, { params, principal }) => rules.read(params.rule_id, principal)
})

const update = defineRoute({
  method: 'PUT',
  url: '/v1/rules/:rule_id',
  action: 'rule.update',
  access: 'user',
  summary: 'Changes a rule while it runs.',
  description:
    'Changes hot fields, such as `rate_limit`, and answers when the client has applied them. The body is the whole rule, or hot fields alone.',
  outcome: 'deferred',
  schema: filled => ({
    params: RuleParams,
    query: Wait,
    body: updateBody(filled),
    reply: ruleRecord(filled),
    errors: updateErrors(filled)
  }),
  run: ({ rules }: Deps, call) =>
    rules.update(call.params.rule_id, call.body, call.query.ack_timeout_secs, call),
  replay: ({ rules }, { principal }, id) => rules.read(id, principal)
})

const replace = defineRoute({
  method: 'PUT',
  url: '/v1/rules/:rule_id/definition',
  action: 'rule.replace',
  access: 'user',
  summary: 'Replaces the definition of a rule.',
  description:
    'Replaces all but client, owner, protocol and ports. The old rule stays until the client has the new one.',
  outcome: 'deferred',
  schema: filled => ({
    params: RuleParams,
    query: Wait,
    body: createBody(filled),
    reply: ruleRecord(filled),
    errors: replaceErrors(filled)
  }),
  run: ({ rules }: Deps, call) =>
    rules.replace(call.params.rule_id, call.body, call.query.ack_timeout_secs, call),
  replay: ({ rules }, { principal }, id) => rules.read(id, principal)
})

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
  run: ({ rules }: Deps, call) => rules.remove(call.params.rule_id, call.query.ack_timeout_secs, call)
})

export const routes = [create, list, read, update, replace, remove]
