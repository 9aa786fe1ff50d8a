// The guardrails of an agent on the host of its server.
import { lookup } from 'node:dns/promises'
import { join } from 'node:path'
import { defineCheck } from '../../cli/check-exports.ts'

export const guardrails = defineCheck<'guardrails.server_ports'>({
  name: 'guardrails',
  roles: ['agent'],
  findings: {
    'guardrails.server_ports': {
      status: 'warn',
      when: 'the server runs on the host of this agent, and deny_local_ports is empty: rules can read the metrics of all clients and reach the API from loopback',
      remedy:
        'add the ports of API, metrics and control stream to deny_local_ports of the agent, such as [7080, 7081, 7443]; the agent of sluice up does this'
    }
  },
  async run({ dir, keys }) {
    const { endpointsOf, readBundle } = await import('../../../agent/stream/bundle.ts')
    const { canonicalAddress, isOwnAddress } = await import('../../../agent/net/address.ts')
    const bundle = readBundle(join(dir, 'bundle.json'))
    if (bundle === null) return [{ ok: 'this host is not enrolled' }]
    const isHere = async (name: string): Promise<boolean> => {
      const addresses = await lookup(name.replace(/^\[|\]$/g, ''), { all: true }).catch(() => [])
      return addresses.some(({ address }) => isOwnAddress(['0.0.0.0', '::'], canonicalAddress(address)))
    }
    const denied = keys['deny_local_ports'] as readonly (number | string)[]
    for (const endpoint of denied.length > 0 ? [] : endpointsOf(bundle))
      if (await isHere(new URL(`tls://${endpoint}`).hostname))
        return [{ id: 'guardrails.server_ports', message: `the server at ${endpoint} runs on this host` }]
    return [{ ok: 'rules lead to no server on this host' }]
  }
})
