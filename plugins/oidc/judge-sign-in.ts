// Asks each provider as a sign-in does, and judges `password_sign_in` and the grants of groups.
import { Fault, reasonOf } from '../../kernel/base/errors.ts'
import type { DoctorContext, Finding } from '../cli/check-exports.ts'
import type { GrantTemplate } from '../grants/exports.ts'
import {
  authoritiesOf,
  type Provider,
  providersIn,
  redirectUriOf,
  secretOf
} from './provider/provider-config.ts'
import { openProviderFetch, ProviderUnavailable } from './provider/provider-fetch.ts'
import type { Config } from './settings.ts'

export type FindingId =
  | 'sign_in.file_unusable'
  | 'sign_in.provider_silent'
  | 'sign_in.secret_refused'
  | 'sign_in.no_logout'
  | 'sign_in.grant_client_unknown'
  | 'sign_in.locked_out'
  | 'sign_in.no_alternative'

type Findings = readonly Finding<FindingId>[]

export async function judgeSignIn({ keys, query }: DoctorContext): Promise<Findings> {
  const publicOrigin = (keys['operator_http_public_origin'] as string | undefined) ?? null // checked
  const providers = providersIn(configIn(keys), publicOrigin)
  const found = await Promise.all([
    judgePasswords(keys['password_sign_in'], providers, query),
    judgeGrants(providers, query),
    ...providers.map(provider => askProvider(provider, redirectUriOf(provider, publicOrigin ?? '')))
  ])
  const findings = found.flat()
  if (findings.length > 0) return findings
  return [{ ok: providers.length === 1 ? '1 provider answers' : `${providers.length} providers answer` }]
}

/** Returns the section of this plugin. */
const configIn = ({ plugins }: DoctorContext['keys']): Config =>
  (plugins as { readonly oidc?: Config } | undefined)?.oidc ?? { providers: {} } // checked

async function askProvider(provider: Provider, redirectUri: string): Promise<Findings> {
  const { name } = provider
  try {
    const hasSecret = secretOf(provider) !== null // one in the environment of the service is not known here
    const { openProviderClient } = await import('./provider/provider-client.ts') // loads slowly
    const now = () => performance.now()
    const fetch = openProviderFetch({ authorities: authoritiesOf(provider), report: () => {}, now })
    const client = openProviderClient({ provider, fetch, now })
    const logoutUrl = await client.logoutUrl(redirectUri)
    const findings: Finding<FindingId>[] = []
    if (hasSecret && (await client.refusesSecret(redirectUri)))
      findings.push({ id: 'sign_in.secret_refused', message: `${name} refuses the client secret` })
    if (provider.logout === 'provider' && logoutUrl === null)
      findings.push({ id: 'sign_in.no_logout', message: `${name} has no usable end_session_endpoint` })
    return findings
  } catch (error) {
    if (error instanceof ProviderUnavailable)
      return [{ id: 'sign_in.provider_silent', message: `${name}: ${error.message}` }]
    if (error instanceof Fault) return [{ id: 'sign_in.file_unusable', message: reasonOf(error) }]
    throw error
  }
}

async function judgeGrants(providers: readonly Provider[], query: DoctorContext['query']): Promise<Findings> {
  const given = providers.flatMap(({ name, grants = {} }) =>
    Object.entries(grants).flatMap(([group, templates]) =>
      templates.flatMap(template =>
        clientsIn(template).map(client => ({ client, at: `${name}, group ${group}` }))
      )
    )
  )
  if (given.length === 0) return []
  const clients = await query<{ id: string; name: string }>(
    'kernel_client',
    'select id, name from kernel_client'
  )
  const isKnown = (text: string): boolean =>
    clients.some(({ id }) => id === text) || clients.filter(({ name }) => name === text).length === 1
  const unknown = Map.groupBy(
    given.filter(({ client }) => !isKnown(client)),
    ({ at }) => at
  )
  return [...unknown].map(([at, found]) => ({
    id: 'sign_in.grant_client_unknown',
    message: `${at}: ${[...new Set(found.map(({ client }) => client))].join(', ')}`
  }))
}

const clientsIn = ({ client, client_id: id = '*', entries = [] }: GrantTemplate): string[] => [
  ...(client === undefined ? [] : [client]),
  ...(id === '*' ? [] : [id]),
  ...entries
]

async function judgePasswords(
  policy: unknown,
  providers: readonly Provider[],
  query: DoctorContext['query']
): Promise<Findings> {
  if (policy === 'superadmins' && providers.length === 0)
    return [{ id: 'sign_in.no_alternative', message: 'only superadmins can sign in' }]
  if (policy !== 'off') return []
  const identities = await query<{ provider: string }>(
    'oidc_identity',
    `select provider from oidc_identity join kernel_user on kernel_user.id = user_id
     where role = 'superadmin' and not disabled`
  )
  if (identities.some(({ provider }) => providers.some(({ name }) => name === provider))) return []
  return [{ id: 'sign_in.locked_out', message: 'no superadmin can sign in' }]
}
