import { clientNotFound, rateLimited } from '../../kernel/base/errors.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import { clientNameAmbiguous } from '../clients/exports.ts'
import { clientNotGranted } from '../rules/exports.ts'
import type { Explanations } from './explanations.ts'
import { Explanation, Question } from './schema.ts'
import type { Services } from './server-steps.ts'

interface Deps extends Services {
  readonly explanations: Explanations
}

const explain = defineRoute({
  method: 'POST',
  url: '/v1/explain',
  action: 'rule.explain',
  access: 'user',
  summary: 'Tells what becomes of a caller of a port, and what decides it.',
  description:
    'Users see what their own rules do; a port of others is one without a rule. A probe and a test byte are in the audit log: they reach the targets of the rule, and nothing else.',
  schema: () => ({
    body: Question,
    reply: Explanation,
    errors: [clientNotFound, clientNotGranted, clientNameAmbiguous, rateLimited]
  }),
  async run({ explanations, store }: Deps, { body, principal, change }) {
    if (!body.probe && !body.test_byte) {
      const known = await store.read(em => explanations.look(body, principal, em))
      return explanations.finish(known, body)
    }
    return explanations.probed(principal.userId, async () => {
      const id = ({ client, protocol, port }: Question): string => `${client} ${protocol}/${port}`
      const known = await change({ kind: 'port', id: id(body) }, em => explanations.look(body, principal, em))
      return explanations.finish(known, body)
    })
  }
})

export const routes = [explain]
