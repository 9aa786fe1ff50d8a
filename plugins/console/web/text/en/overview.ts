import { plural } from '../plural.ts'

export const overview = {
  welcome: 'Three steps to your first connection',
  stepClient: 'Add a client',
  stepClientText:
    'A client is a host that runs the sluice agent. The agent opens ports and forwards traffic.',
  stepRule: 'Create a rule',
  stepRuleText: 'A rule forwards a port of a client to a target.',
  stepUse: 'Connect',
  stepUseText: 'Connect to the port. The line below counts the forwarded traffic.',
  test: 'Send a test byte',
  testText: 'The client connects to its own port, as a caller would, and reports the result.',
  speed: 'Throughput',
  waiting: 'Waiting for the first connection',
  forwarded: (connections: string, bytes: string) => `Connections: ${connections}, forwarded: ${bytes}`,
  clients: 'Connected clients',
  rules: 'Active rules',
  connections: 'Open connections',
  in: 'In',
  out: 'Out',
  trafficIn: 'Traffic in',
  trafficOut: 'Traffic out',
  total: (bytes: string) => `${bytes} total`,
  top: 'Most traffic in the last 24 hours',
  topBy: { rule: 'Rules', client: 'Clients', owner: 'Users', target: 'Targets' },
  changes: 'Recent changes',
  noChanges: 'No changes yet.',
  versions: 'Agent versions',
  noVersion: 'not connected yet',
  clientsWith: (n: string) => plural(n, 'client', 'clients'),
  noneGranted: 'You have no access to a client yet. Ask an administrator for a grant.'
}

export const attention = {
  title: 'Needs attention',
  none: 'Everything is running.',
  clientOffline: (name: string) => `Client ${name} is offline`,
  clientsOffline: (n: string) => plural(n, 'client is offline', 'clients are offline'),
  failed: (n: string) => plural(n, 'rule failed', 'rules failed'),
  partial: (n: string) => plural(n, 'rule is missing on some clients', 'rules are missing on some clients'),
  pending: (n: string) => plural(n, 'rule waits for its client', 'rules wait for their clients'),
  targets: (n: string) => plural(n, 'rule has targets that are down', 'rules have targets that are down'),
  quotasExhausted: (n: string) => plural(n, 'quota is used up', 'quotas are used up'),
  quotasNear: (n: string) => plural(n, 'quota is nearly used up', 'quotas are nearly used up'),
  denied: (n: string) =>
    plural(n, 'request was denied in the last hour', 'requests were denied in the last hour')
}
