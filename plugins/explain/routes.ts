import { clientNotFound, rateLimited } from '../../kernel/base/errors.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import { clientNameAmbiguous } from '../clients/exports.ts'
import { clientNotGranted, toProtocol, validationProtocol } from '../rules/exports.ts'
import type { Explanations } from './explanations.ts'
import { explanationSchema, Question } from './schema.ts'
import type { Services } from './server-steps.ts'

interface Deps extends Services {
  readonly explanations: Explanations
}

const explain = defineRoute({
  method: 'POST',
  url: '/v1/explain',
  action: 'rule.explain',
  access: 'user',
  reads: true,
  summary: 'Explains what happens to a caller of a port, and what decides it.',
  description:
    'Users see only their own rules; the port of another user appears to have no rule. The audit log records probes and test bytes. They reach only the targets of the rule.',
  schema: filled => ({
    body: Question,
    reply: explanationSchema(filled),
    errors: [clientNotFound, clientNotGranted, clientNameAmbiguous, rateLimited, validationProtocol]
  }),
  isTrial: ({ body }) => !body.probe && !body.test_byte,
  async run({ explanations, store }: Deps, { body, principal, change }) {
    const question = { ...body, protocol: toProtocol(body.protocol) }
    if (!body.probe && !body.test_byte) {
      const server = await store.read(em => explanations.explainOnServer(question, principal, em))
      return explanations.finish(server, question)
    }
    return explanations.runProbe(principal.userId, async () => {
      const id = ({ client, protocol, port }: Question): string => `${client} ${protocol}/${port}`
      const server = await change({ kind: 'port', id: id(question) }, em =>
        explanations.explainOnServer(question, principal, em)
      )
      return explanations.finish(server, question)
    })
  }
})

export const routes = [explain]
