import { Type } from 'typebox'
import {
  limitReached,
  notFound,
  notOwner,
  rateLimited,
  unauthenticated,
  userDisabled,
  userNotFound
} from '../../kernel/base/errors.ts'
import type { RequestInfo } from '../../kernel/http/principal.ts'
import { defineRoute, type Media } from '../../kernel/http/route.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { SignIn } from '../auth/exports.ts'
import {
  bootstrapRequired,
  csrfContentTypeRequired,
  csrfHeaderRequired,
  csrfOriginMismatch,
  csrfOriginRequired,
  defineList,
  refuseOtherOrigin,
  refuseWithoutCsrfHeader
} from '../http/exports.ts'
import { serviceAccount } from '../users/exports.ts'
import {
  denied,
  groupsMissing,
  identityNotFound,
  identityTaken,
  invalidLogoutToken,
  invalidReturnTo,
  notAllowed,
  providerUnavailable,
  stateInvalid,
  tokenInvalid,
  userConflict,
  userUnknown
} from './codes.ts'
import type { IdentityDirectory } from './identity-directory.ts'
import type { Provider } from './provider/provider-config.ts'
import type { Providers } from './provider/providers.ts'
import * as schemas from './schema.ts'
import type { config } from './settings.ts'
import type { BackChannelLogout } from './sign-in/back-channel-logout.ts'
import type { BeginSignIn } from './sign-in/begin-sign-in.ts'
import type { FinishSignIn } from './sign-in/finish-sign-in.ts'
import { returnAddress } from './sign-in/return-address.ts'
import type { SignInLog } from './sign-in/sign-in-log.ts'
import { stateCookie } from './sign-in/states.ts'

/** The services that the routes use. */
export interface RouteDeps extends Kernel<typeof config> {
  readonly signIn: SignIn
  readonly providers: Providers
  readonly beginSignIn: BeginSignIn
  readonly finishSignIn: FinishSignIn
  readonly signInLog: SignInLog
  readonly backChannelLogout: BackChannelLogout
  readonly identityDirectory: IdentityDirectory
}

const list = defineRoute({
  method: 'GET',
  url: '/v1/auth/providers',
  action: 'auth.providers',
  access: 'public',
  summary: 'Lists the ways to sign in.',
  schema: () => ({ reply: schemas.ProviderList, errors: [] }),
  run: async ({ providers, signIn }: RouteDeps) => ({
    password: signIn.hasPasswords,
    passkey: false,
    providers: providers.all().map(({ name, title }) => ({ name, title }))
  })
})

const startErrors = [notFound, invalidReturnTo, bootstrapRequired, providerUnavailable, unauthenticated]

const start = defineRoute({
  method: 'GET',
  url: '/v1/auth/oidc/:name/start',
  action: 'oidc.start',
  access: 'public',
  reply: 'media',
  status: 302,
  summary: 'Goes to the sign-in page, for a provider.',
  description:
    'For links: the page has the button of the provider, and leads to `return_to` afterwards. Only the page begins a sign-in, by POST.',
  schema: () => ({
    params: schemas.ProviderParams,
    query: schemas.StartQuery,
    reply: Type.Unknown(),
    errors: [notFound, invalidReturnTo]
  }),
  async run({ providers }: RouteDeps, { params, query }): Promise<Media> {
    const provider = providers.get(params.name)
    const { pathname, search } = new URL(returnAddress(query.return_to ?? '/', originOf(providers, provider)))
    return redirect(`${pathname}${search}#provider=${provider.name}`)
  }
})

const originOf = (providers: Providers, provider: Provider): string =>
  new URL(providers.redirectUri(provider)).origin

/** Proves that a page of this origin asks. Sessions do not do that here, as there may be none. */
function requireOwnPage(info: RequestInfo): void {
  refuseOtherOrigin(info)
  refuseWithoutCsrfHeader(info)
}

const pageErrors = [csrfOriginRequired, csrfOriginMismatch, csrfHeaderRequired, csrfContentTypeRequired]

const begin = defineRoute({
  method: 'POST',
  url: '/v1/auth/oidc/:name/start',
  action: 'oidc.begin',
  access: 'public',
  reads: true, // what a sign-in changes is audited when the browser comes back
  summary: 'Begins a sign-in at a provider.',
  description:
    'For pages of this origin: needs `Origin`, `X-Svc-CSRF: 1` and `X-Svc-Session-Key`, to which the session is bound. With `reauthenticate` the provider asks the user again, and the session is then fresh.',
  schema: () => ({
    params: schemas.ProviderParams,
    body: schemas.StartBody,
    reply: schemas.Started,
    errors: [...startErrors, ...pageErrors]
  }),
  async run({ providers, beginSignIn }: RouteDeps, call) {
    const provider = providers.get(call.params.name)
    requireOwnPage(call.requestInfo)
    const { reauthenticate = false, ...given } = call.body
    const kind = reauthenticate ? 'reauthenticate' : 'sign-in'
    return { redirect: await beginSignIn(provider, { ...given, kind }, call) }
  }
})

const callback = defineRoute({
  method: 'GET',
  url: '/v1/auth/oidc/:name/callback',
  action: 'oidc.callback',
  access: 'public',
  reply: 'media',
  status: 302,
  summary: 'Takes the answer of a provider to the page that has begun the sign-in.',
  description: 'Changes nothing. The page brings the answer by `POST .../finish`, with its key.',
  schema: () => ({
    params: schemas.ProviderParams,
    query: schemas.CallbackQuery,
    reply: Type.Unknown(),
    errors: [notFound]
  }),
  async run({ providers }: RouteDeps, { params, query }): Promise<Media> {
    const { name } = providers.get(params.name)
    return redirect(`/#oidc=${name}&${answerIn(query)}`)
  }
})

const refusals = [stateInvalid, denied, tokenInvalid, groupsMissing, notAllowed, userUnknown, userConflict]

const answerNames = ['code', 'state', 'iss', 'error']

/** A repeated parameter is no answer. */
const answerIn = (query: Readonly<Record<string, unknown>>): URLSearchParams =>
  new URLSearchParams(
    Object.entries(query).filter(
      (pair): pair is [string, string] => answerNames.includes(pair[0]) && typeof pair[1] === 'string'
    )
  )

const finish = defineRoute({
  method: 'POST',
  url: '/v1/auth/oidc/:name/finish',
  action: 'oidc.finish',
  access: 'public',
  summary: 'Finishes a sign-in at a provider.',
  description:
    'For pages of this origin: needs `Origin`, `X-Svc-CSRF: 1` and the `X-Svc-Session-Key` of the start. Opens a session, makes it fresh, or adds an identity, as the start has said.',
  schema: () => ({
    params: schemas.ProviderParams,
    body: schemas.FinishBody,
    reply: schemas.Finished,
    errors: [
      notFound,
      ...refusals,
      identityTaken,
      limitReached,
      userDisabled,
      serviceAccount,
      rateLimited,
      providerUnavailable,
      ...pageErrors
    ]
  }),
  async run({ providers, finishSignIn, signInLog }: RouteDeps, call) {
    const provider = providers.get(call.params.name)
    requireOwnPage(call.requestInfo)
    call.setCookie(stateCookie, '', 'clear')
    try {
      return { return_to: await finishSignIn(provider, new URLSearchParams(call.body.answer), call) }
    } catch (error) {
      signInLog.failed(provider.name, error)
      throw error
    }
  }
})

const redirect = (location: string): Media => ({
  status: 302,
  type: 'text/plain; charset=utf-8',
  body: '',
  headers: { location }
})

const backChannelLogout = defineRoute({
  method: 'POST',
  url: '/v1/auth/oidc/:name/back-channel-logout',
  action: 'oidc.logout',
  access: 'public',
  takesForm: true,
  reply: 'text',
  summary: 'Ends sessions that have ended at their provider.',
  description: 'For providers: OpenID Connect Back-Channel Logout 1.0. The body is a form.',
  schema: () => ({
    params: schemas.ProviderParams,
    body: schemas.LogoutBody,
    reply: Type.String(),
    errors: [notFound, invalidLogoutToken, providerUnavailable]
  }),
  async run({ providers, backChannelLogout }: RouteDeps, call) {
    await backChannelLogout(providers.get(call.params.name), call.body.logout_token, call)
    return ''
  }
})

const listIdentities = defineList({
  url: '/v1/users/:user_id/identities',
  action: 'identity.list',
  access: 'user',
  summary: 'Lists the identities with which a user can sign in at providers.',
  schema: () => ({
    params: schemas.UserParams,
    row: schemas.IdentityRow,
    errors: [userNotFound, notOwner]
  }),
  run: ({ identityDirectory }: RouteDeps, { params, principal }) =>
    identityDirectory.list(params.user_id, principal)
})

const createIdentity = defineRoute({
  method: 'POST',
  url: '/v1/users/:user_id/identities',
  action: 'identity.create',
  access: 'superadmin',
  needsFresh: true,
  status: 201,
  summary: 'Lets a user of a provider sign in as this user.',
  description: 'The provider must be in the configuration. `sub` is the id of the user there, not the name.',
  schema: () => ({
    params: schemas.UserParams,
    body: schemas.IdentityBody,
    reply: schemas.IdentityRow,
    errors: [userNotFound, notFound, serviceAccount, identityTaken, limitReached]
  }),
  run: ({ identityDirectory }: RouteDeps, call) =>
    identityDirectory.create(call.params.user_id, call.body, call)
})

const removeIdentity = defineRoute({
  method: 'DELETE',
  url: '/v1/users/:user_id/identities/:identity_id',
  action: 'identity.delete',
  access: 'self',
  needsFresh: true,
  status: 204,
  summary: 'Removes an identity. Sessions stay.',
  description: 'Of your own account; a superadmin also those of others.',
  schema: () => ({
    params: schemas.IdentityParams,
    reply: Type.Void(),
    errors: [notOwner, userNotFound, identityNotFound]
  }),
  run: ({ identityDirectory }: RouteDeps, call) =>
    identityDirectory.remove(call.params.user_id, call.params.identity_id, call)
})

const link = defineRoute({
  method: 'POST',
  url: '/v1/users/me/identities/:name/start',
  action: 'identity.link',
  access: 'session',
  needsFresh: true,
  summary: 'Begins to add an identity to your account.',
  description: 'Go to `redirect`: whoever signs in at the provider can then sign in as you.',
  schema: () => ({
    params: schemas.ProviderParams,
    body: schemas.LinkBody,
    reply: schemas.Started,
    errors: startErrors
  }),
  run: async ({ providers, beginSignIn }: RouteDeps, call) => ({
    redirect: await beginSignIn(providers.get(call.params.name), { ...call.body, kind: 'link' }, call)
  })
})

export const routes = [
  list,
  start,
  begin,
  callback,
  finish,
  backChannelLogout,
  listIdentities,
  createIdentity,
  removeIdentity,
  link
]
