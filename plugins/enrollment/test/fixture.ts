// A server, its codes over HTTP, and agents that redeem them by the handler that the control stream calls.
import { hashOf } from '../../../kernel/identity/secret.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import type { TestServer } from '../../../kit/test-server.ts'
import type { ClientRow } from '../../clients/row.ts'
import enrollment from '../plugin.ts'
import type { Invitation } from '../schema.ts'
import { Redeem, Redeemed } from '../wire.ts'

export const plugins = ['advertised-endpoint', 'clients', 'enrollment']
export const setting = '/v1/settings/advertised-endpoint'
export const codeIn = ({ uri }: Invitation): string => new URL(uri).searchParams.get('code') ?? ''

/** As an agent says it, bytes in and bytes out; a refusal is its code. */
export async function redeem(
  { server }: TestServer,
  code: string,
  token: string,
  deps: Kernel = server.depsOf('enrollment')
) {
  const [greeting] = enrollment.preAuthHandlers ?? []
  const bytes = deps.codec.encode(Redeem, { code, token_hash: hashOf(token) })
  try {
    const answer = await greeting?.run({ peer: { remoteAddr: '192.0.2.1' }, deps }, deps.codec, bytes)
    return deps.codec.decode(Redeemed, answer?.body ?? new Uint8Array())
  } catch (error) {
    return (error as { code: string }).code // of Refused: a test that gets another error sees undefined
  }
}

export async function createCode(home: TestServer, body: object = { name: 'edge' }): Promise<Invitation> {
  return (await home.call<Invitation>('POST', '/v1/client-enrollments', body)).body
}

/** A client whose agent holds `token`. */
export async function enrolledClient(home: TestServer, token: string): Promise<string> {
  await redeem(home, codeIn(await createCode(home)), token)
  const { body } = await home.call<ClientRow[]>('GET', '/v1/clients')
  return body.at(-1)?.client_id ?? ''
}
