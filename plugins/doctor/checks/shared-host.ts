import { join } from 'node:path'
import { defineCheck } from '../../cli/check-exports.ts'
import { listNames } from '../finding-text.ts'

interface Row {
  readonly name: string
  readonly address: string
}

/** Cookies have no port: does a browser send those of the API to forwarded ports as well? */
export const sharedHost = defineCheck({
  name: 'api-host',
  roles: ['server'],
  findings: {
    'api.shared_host': {
      status: 'warn',
      when: 'an edge has the host name of the operator API, so browsers send the session cookie to its forwarded ports; the console is safe, sessions of scripts without X-Svc-Session-Key are not',
      remedy: 'give the API a separate host name, and set operator_http_public_origin; let scripts use tokens'
    }
  },
  async run({ dir, keys, host, query }) {
    const names = apiHosts(keys)
    const rows = await query<Row>(
      'kernel_client',
      'select name, address from kernel_client where address is not null and revoked_at is null order by name'
    )
    const shared = rows.filter(({ address }) => names.has(address.toLowerCase())).map(({ name }) => name)
    const hasOwnAgent = host.read(join(dir, 'agent', 'bundle.json')) !== null // as `sluice up` makes it
    const edges = [...shared, ...(hasOwnAgent ? ['the agent in the data directory'] : [])]
    return edges.length > 0
      ? [{ id: 'api.shared_host', message: `${listNames(edges)}: same host as the operator API` }]
      : [{ ok: 'no edge has the host name of the operator API' }]
  }
})

/** Returns the hosts at which browsers reach the API. */
function apiHosts(keys: Readonly<Record<string, unknown>>): ReadonlySet<string> {
  const { operator_http_public_origin: origin, operator_http_listen: listen } = keys
  const hosts = [origin, `http://${String(listen)}`]
    .filter(url => typeof url === 'string' && URL.canParse(url))
    .map(url => new URL(String(url)).hostname.replace(/^\[|\]$/g, ''))
  return new Set(hosts)
}
