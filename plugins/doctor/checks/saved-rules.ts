// The saved rules of an agent: their ports on this host, and the host names of their targets.
import { isIP } from 'node:net'
import type { Lookup } from '../../../agent/resolver/dns-lookup.ts'
import type { SearchList } from '../../../agent/resolver/search-list.ts'
import { systemClock } from '../../../kernel/base/clock.ts'
import { firstFreePort } from '../../../kernel/platform/low-port.ts'
import { type DoctorContext, defineCheck, type Finding } from '../../cli/check-exports.ts'
import { loadSavedRules, type SavedRule } from '../../rules/command-exports.ts'
import { listNames, plural } from '../finding-text.ts'
import { isOutgoing } from './ports.ts'

type PortFindingId = 'rule_ports.outgoing' | 'rule_ports.privileged'

export const rulePorts = defineCheck<PortFindingId>({
  name: 'rule_ports',
  roles: ['agent'],
  findings: {
    'rule_ports.outgoing': {
      status: 'warn',
      when: 'a rule listens on a port in the range for outgoing connections, so the port may be in use after a restart',
      remedy: 'reserve it: sysctl net.ipv4.ip_local_reserved_ports=PORT, or move the rule'
    },
    'rule_ports.privileged': {
      status: 'warn',
      when: 'a rule listens on a port that needs CAP_NET_BIND_SERVICE, which this user lacks',
      remedy: 'run the agent with the systemd unit of sluice service install, which has the capability'
    }
  },
  async run(context) {
    const { savedRules } = await loadSavedRules()
    const rules = savedRules(context.dir)
    const found: Finding<PortFindingId>[] = []
    const outgoing = rules.filter(({ listen_from, listen_to }) =>
      [listen_from, listen_to].some(port => isOutgoing(context, port))
    )
    const named = (rules: readonly SavedRule[]): string =>
      listNames(
        rules.map(({ rule_id, listen_from }) => `${listen_from} of rule ${rule_id}`),
        3
      )
    if (outgoing.length > 0) found.push({ id: 'rule_ports.outgoing', message: named(outgoing) })
    const low = rules.filter(({ listen_from }) => listen_from < firstFreePort())
    if (low.length > 0 && !context.isRunning && !canBindLowPorts(context))
      found.push({ id: 'rule_ports.privileged', message: named(low) })
    return found.length > 0 ? found : [{ ok: plural(rules.length, 'saved rule') }]
  }
})

const netBindService = 10 // the capability's number

function canBindLowPorts({ host }: Pick<DoctorContext, 'host'>): boolean {
  const [, effective = '0'] = /^CapEff:\s+([0-9a-f]+)$/m.exec(host.read('/proc/self/status') ?? '') ?? []
  return ((BigInt(`0x${effective}`) >> BigInt(netBindService)) & 1n) === 1n
}

type ResolverFindingId = 'resolver.none' | 'resolver.silent' | 'resolver.name'

export const resolver = defineCheck<ResolverFindingId>({
  name: 'resolver',
  roles: ['agent'],
  findings: {
    'resolver.none': {
      status: 'fail',
      when: 'targets have host names, but /etc/resolv.conf has no name server',
      remedy: 'add a name server to /etc/resolv.conf, or start systemd-resolved'
    },
    'resolver.silent': {
      status: 'fail',
      when: 'targets have host names, but no name server answers',
      remedy: 'check the name servers in /etc/resolv.conf and the path to them (port 53)'
    },
    'resolver.name': {
      status: 'warn',
      when: 'the host name of a target does not resolve on this host',
      remedy: 'correct the name in the rule or in its DNS zone'
    }
  },
  async run({ dir, host }) {
    const { openHosts } = await import('../../../agent/resolver/hosts.ts')
    const { parseSearchList, withoutDot } = await import('../../../agent/resolver/search-list.ts')
    const inFile = openHosts()
    const { savedRules } = await loadSavedRules()
    const hosts = savedRules(dir).flatMap(({ targets }) => targets.map(({ host }) => host))
    const names = [...new Set(hosts)].filter(host => isIP(host) === 0 && inFile(withoutDot(host)) === null)
    if (names.length === 0) return [{ ok: 'no target of a saved rule has a host name' }]
    const servers = host.nameServers()
    if (servers.length === 0) return [{ id: 'resolver.none', message: 'there is no name server' }]
    return lookUpAll(names.slice(0, maxNames), {
      servers,
      search: parseSearchList(host.read('/etc/resolv.conf') ?? '')
    })
  }
})

interface NameService {
  readonly servers: readonly string[]
  readonly search: SearchList
}

const maxNames = 50 // to look up per run

async function lookUpAll(
  names: readonly string[],
  service: NameService
): Promise<Finding<ResolverFindingId>[]> {
  const answers = await Promise.all(names.map(name => lookUp(name, service)))
  if (!answers.some(({ isAnswered }) => isAnswered))
    return [{ id: 'resolver.silent', message: `no answer from ${service.servers.join(', ')}` }]
  const wrong = names.filter((_, at) => !answers[at]?.ok)
  if (wrong.length === 0) return [{ ok: `${names.length} host names resolve` }]
  return [{ id: 'resolver.name', message: listNames(wrong) }]
}

/** Looks a name up like the agent. `isAnswered`: a name server answered, if only with an error. */
async function lookUp(name: string, { servers, search }: NameService) {
  const { dnsLookup, lookUpAddresses } = await import('../../../agent/resolver/dns-lookup.ts')
  let isAnswered = false
  const lookup: Lookup = signal => {
    const query = dnsLookup(servers)(signal)
    return (name, family) =>
      query(name, family).then(
        addresses => {
          isAnswered = true
          return addresses
        },
        error => {
          if (!/^(ETIMEOUT|ECANCELLED|ECONNREFUSED)$/.test(error.code)) isAnswered = true
          throw error
        }
      )
  }
  const { ok } = await lookUpAddresses({ names: search(name), known: null }, lookup, systemClock)
  return { ok, isAnswered }
}
