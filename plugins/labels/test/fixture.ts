import type { Test } from 'tap'
import { type ErrorReply, type RulesFixture, rulesFixture } from '../../rules/test/fixture.ts'

export interface LabelledReply extends ErrorReply {
  readonly labels: Readonly<Record<string, string>>
}

/** A server with a connected client `edge`, and all plugins with labelled records. */
export async function labelsFixture(t: Test): Promise<RulesFixture & { readonly clientId: string }> {
  const plugins = [
    'users',
    'clients',
    'rules',
    'grants',
    'advertised-endpoint',
    'enrollment',
    'labels',
    'audit'
  ]
  const app = await rulesFixture(t, { plugins })
  const clientId = await app.enroll()
  await app.connect(clientId)
  return { ...app, clientId }
}

export const refusal = (code: string, field: string, status = 400) => ({
  status,
  body: { error: { code, details: { field } } }
})
