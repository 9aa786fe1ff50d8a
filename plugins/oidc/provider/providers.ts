import { Fault, notFound } from '../../../kernel/base/errors.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import type { PublicOrigin } from '../../http/exports.ts'
import { providerUnavailable } from '../codes.ts'
import type { OidcMetrics } from '../metrics.ts'
import type { config } from '../settings.ts'
import type { ProviderClient } from './provider-client.ts'
import { authoritiesOf, type Provider, providersIn, redirectUriOf } from './provider-config.ts'
import { openProviderFetch, ProviderUnavailable } from './provider-fetch.ts'

const retrySecs = 10

/** The providers of the configuration, which a reload replaces. */
export interface Providers {
  all(): readonly Provider[]
  /** Throws `not_found`. */
  get(name: string): Provider
  /** Runs `work` with the client of a provider. Throws `provider_unavailable` if the provider does not answer. */
  ask<T>(provider: Provider, work: (client: ProviderClient) => Promise<T>): Promise<T>
  /** The address at which a provider sends the browser back. */
  redirectUri(provider: Provider): string
  /** Throws `startup.config_invalid` for an invalid configuration. */
  check(): void
}

interface Deps extends Pick<Kernel<typeof config>, 'config' | 'clock'> {
  readonly publicOrigin: PublicOrigin
  readonly oidcMetrics: Pick<OidcMetrics, 'countRequest'>
}

export function openProviders({ config, clock, publicOrigin, oidcMetrics }: Deps): Providers {
  let known: { readonly from: object; readonly list: readonly Provider[] } | null = null
  const clients = new Map<string, ProviderClient>()

  /** A reload replaces the object of the configuration. */
  function all(): readonly Provider[] {
    if (known?.from !== config.providers) {
      const isReady = publicOrigin() !== null // a reload can add providers, but no public origin
      known = { from: config.providers, list: isReady ? providersIn(config, publicOrigin()) : [] }
      clients.clear()
    }
    return known.list
  }

  async function clientOf(provider: Provider): Promise<ProviderClient> {
    const found = clients.get(provider.name)
    if (found?.provider === provider) return found
    const { openProviderClient } = await import('./provider-client.ts')
    const now = () => clock.monotonic()
    const report = (ms: number): void => oidcMetrics.countRequest(provider.name, ms / 1000)
    const fetch = openProviderFetch({ authorities: authoritiesOf(provider), report, now })
    const client = openProviderClient({ provider, fetch, now })
    if (all().includes(provider)) clients.set(provider.name, client)
    return client
  }

  return {
    all,
    get(name) {
      const provider = all().find(one => one.name === name)
      if (provider) return provider
      throw new Fault(notFound, `no provider ${name}; GET /v1/auth/providers lists them`)
    },
    async ask(provider, work) {
      try {
        return await work(await clientOf(provider))
      } catch (error) {
        if (!(error instanceof ProviderUnavailable)) throw error
        throw new Fault(providerUnavailable, `the provider ${provider.name} cannot be reached; try again`, {
          cause: error,
          details: { retry_after_secs: retrySecs }
        })
      }
    },
    redirectUri: provider => redirectUriOf(provider, publicOrigin() ?? ''),
    check: () => void providersIn(config, publicOrigin())
  }
}
