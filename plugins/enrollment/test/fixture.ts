// Creates codes over HTTP, and redeems them with the handler that the control stream calls.

import { Redeem, Redeemed } from '../../../agent/wire/enrollment.ts'
import { hashOf } from '../../../kernel/identity/secret.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import type { TestServer } from '../../../kit/test-server.ts'
import type { ClientRow } from '../../clients/client-row.ts'
import enrollment from '../plugin.ts'
import type { Invitation } from '../schema.ts'

export const plugins = ['advertised-endpoint', 'clients', 'enrollment']
export const endpointUrl = '/v1/settings/advertised-endpoint'
export const codeIn = ({ uri }: Invitation): string => new URL(uri).searchParams.get('code') ?? ''

/** Redeems like an agent, from bytes to bytes. Returns the response, or the code of a refusal. */
export async function redeem(
  { server }: TestServer,
  code: string,
  token: string,
  deps: Kernel = server.depsOf('enrollment')
) {
  const [handler] = enrollment.preAuthHandlers ?? []
  const bytes = deps.codec.encode(Redeem, { code, token_hash: hashOf(token) })
  try {
    const response = await handler?.run({ peer: { remoteAddr: '192.0.2.1' }, deps }, deps.codec, bytes)
    return deps.codec.decode(Redeemed, response?.body ?? new Uint8Array())
  } catch (error) {
    return (error as { code: string }).code // of Refused: a test that gets another error sees undefined
  }
}

export async function createCode(app: TestServer, body: object = { name: 'edge' }): Promise<Invitation> {
  return (await app.call<Invitation>('POST', '/v1/client-enrollments', body)).body
}

/** Enrolls a client with this token and returns its id. */
export async function enrolledClient(app: TestServer, token: string): Promise<string> {
  await redeem(app, codeIn(await createCode(app)), token)
  const { body } = await app.call<ClientRow[]>('GET', '/v1/clients')
  return body.at(-1)?.client_id ?? ''
}
