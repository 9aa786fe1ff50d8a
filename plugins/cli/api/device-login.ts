// The sign-in of `sluice login` without a user: in a browser on any machine (RFC 8628), so that it works over ssh, too.
import { setTimeout as wait } from 'node:timers/promises'
import { Fault, notFound, wrongUsage } from '../../../kernel/base/errors.ts'
import type { CommandCall } from '../../../kernel/cli/command.ts'
import type { CliApi } from './api-client.ts'
import type { Login } from './login-file.ts'

interface DeviceLogin {
  readonly origin: string
  readonly label: string
  readonly scopes: readonly string[] | null
  readonly sso: boolean | string // the name of a provider; true: the only one of the server
}

type Call = Pick<CommandCall<object>, 'connect' | 'print'>

/**
 * Shows a code, and waits until a user has approved it on the server's page. Throws `access_denied` or `expired_token`; with
 * `sso`, `not_found` for a provider that the server does not have, or `usage` if it has several and none is named.
 */
export async function logInByDevice(call: Call, { origin, label, scopes, sso }: DeviceLogin): Promise<Login> {
  const api = call.connect(origin, '') as CliApi // what openApi returns
  const selection = sso === false ? '' : `#provider=${encodeURIComponent(await chooseProvider(api, sso))}` // read by the sign-in page
  const started = await api
    .call('POST /v1/auth/device', { body: { label, ...(scopes && { scopes: [...scopes] }) } })
    .catch(explainMissing)
  const { device_code, user_code, verification_uri, verification_uri_complete, interval, expires_in } =
    started
  call.print.note(
    `open ${verification_uri}${selection} in a browser, sign in, and enter the code ${user_code}\n` +
      `or open ${verification_uri_complete}${selection}\n` +
      `waiting for at most ${expires_in / 60} minutes ...`
  )
  for (let secs = interval; ; ) {
    await wait(secs * 1000)
    try {
      const { user_id, credential_id, token, expires_at } = await api.call('POST /v1/auth/device/token', {
        body: { device_code }
      })
      return { user_id, credential_id, token, expires_at }
    } catch (error) {
      secs = intervalAfter(error, secs)
    }
  }
}

/** Returns the name of the provider that the page selects. */
async function chooseProvider(api: CliApi, sso: true | string): Promise<string> {
  const { providers } = await api.call('GET /v1/auth/providers').catch((error: unknown) => {
    if (isMissing(error)) return { providers: [] } // a server without the plugin
    throw error
  })
  const names = providers.map(({ name }) => name)
  const [only] = names
  if (only === undefined)
    throw new Fault(notFound, 'this server has no provider for a sign-in; omit --sso to sign in on its page')
  const known = `this server has: ${names.join(', ')}`
  if (sso === true) {
    if (names.length === 1) return only
    throw new Fault(wrongUsage, `--sso needs the name of a provider; ${known}`)
  }
  if (names.includes(sso)) return sso
  throw new Fault(notFound, `no provider ${sso}; ${known}`)
}

/** Returns the seconds until the next poll. Throws other errors. */
function intervalAfter(error: unknown, secs: number): number {
  if (!(error instanceof Fault)) throw error
  const { code } = error.errorCode
  if (code === 'authorization_pending') return secs
  const given = error.details?.['interval'] ?? error.details?.['retry_after_secs']
  if (/^(slow_down|rate_limited)$/.test(code) && typeof given === 'number') return given
  throw error
}

/** A server without the plugin has no such route. */
function explainMissing(error: unknown): never {
  if (!isMissing(error)) throw error
  throw new Fault(notFound, 'this server has no sign-in by a browser; give the user: sluice login USER', {
    cause: error
  })
}

const isMissing = (error: unknown): boolean =>
  error instanceof Fault && error.errorCode.code === notFound.code
