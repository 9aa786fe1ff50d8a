// Creates codes and keys over HTTP, and redeems them with the handler that the control stream calls.
import type { Static } from 'typebox'
import { Redeem, Redeemed } from '../../../agent/wire/enrollment.ts'
import { hashOf } from '../../../kernel/identity/secret.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import type { TestServer } from '../../../kit/test-server.ts'
import type { ClientRow } from '../../clients/client-row.ts'
import type { IssuedKey } from '../key-schema.ts'
import enrollment from '../plugin.ts'
import type { Invitation } from '../schema.ts'

export const plugins = ['advertised-endpoint', 'clients', 'enrollment']
export const endpointUrl = '/v1/settings/advertised-endpoint'
export const codeIn = ({ uri }: Pick<Invitation, 'uri'>): string =>
  new URL(uri).searchParams.get('code') ?? ''

/** Redeems a one-time code like an agent, from bytes to bytes. Returns the response, or the code of a refusal. */
export const redeem = (app: TestServer, code: string, token: string, deps?: Kernel) =>
  redeemFrom({ app, remoteAddr: '192.0.2.1', ...(deps && { deps }) }, { code, token_hash: hashOf(token) })

/** Redeems an enrollment key as a host with this name. */
export const redeemKey = (
  app: TestServer,
  key: string,
  {
    token,
    host = 'web',
    from = '192.0.2.1',
    deps
  }: { token: string; host?: string; from?: string; deps?: Kernel }
) =>
  redeemFrom(
    { app, remoteAddr: from, ...(deps && { deps }) },
    { code: key, token_hash: hashOf(token), host_name: host }
  )

interface Place {
  readonly app: TestServer
  readonly remoteAddr: string
  readonly deps?: Kernel
}

async function redeemFrom(
  { app, remoteAddr, deps = app.server.depsOf('enrollment') }: Place,
  body: Static<typeof Redeem.body>
) {
  const [handler] = enrollment.preAuthHandlers ?? []
  const bytes = deps.codec.encode(Redeem, body)
  try {
    const response = await handler?.run({ peer: { remoteAddr }, deps }, deps.codec, bytes)
    return deps.codec.decode(Redeemed, response?.body ?? new Uint8Array())
  } catch (error) {
    return (error as { code: string }).code // of Refused: a test that gets another error sees undefined
  }
}

export const keysUrl = '/v1/enrollment-keys'

export async function createKey(app: TestServer, body: object = {}): Promise<IssuedKey> {
  return (await app.call<IssuedKey>('POST', keysUrl, { label: 'web servers', ...body })).body
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
