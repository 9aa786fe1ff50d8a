import type { HostOptions } from '../../kernel/http/host.ts'
import type { HttpMetrics } from './metrics.ts'

export interface HttpSettings {
  readonly listen: string // 'host:port', '[::1]:0'
  readonly tls: { readonly cert: string; readonly key: string } | null
  readonly publicOrigin: string | null
  readonly trustedProxies: readonly string[]
}

export interface HttpOptions extends HostOptions, HttpSettings {
  readonly httpMetrics: HttpMetrics
}
