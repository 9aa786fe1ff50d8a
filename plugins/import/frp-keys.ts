// Names of the keys of frp: those of INI files become those of its other forms, and case does not count.
import { type IniSection, parseIni } from './ini-syntax.ts'
import type { SourceFile } from './source-file.ts'
import { type Node, openTable, repeatedKey, type TableNode } from './structured-file.ts'

/** Keys with capitals that the importer reads. frp takes them in every case. */
const names = [
  'allowPorts',
  'bandwidthLimit',
  'bandwidthLimitMode',
  'bindAddr',
  'bindPort',
  'customDomains',
  'groupKey',
  'healthCheck',
  'httpHeaders',
  'httpPlugins',
  'intervalSeconds',
  'kcpBindPort',
  'loadBalancer',
  'localIP',
  'localPort',
  'maxFailed',
  'proxyBindAddr',
  'proxyProtocolVersion',
  'quicBindPort',
  'remotePort',
  'requestHeaders',
  'responseHeaders',
  'secretKey',
  'serverAddr',
  'serverPort',
  'subDomainHost',
  'timeoutSeconds',
  'useCompression',
  'useEncryption',
  'vhostHTTPPort',
  'vhostHTTPSPort'
]
const nameByLower = new Map(names.map(name => [name.toLowerCase(), name]))

/** Returns the table with the names that the importer uses. */
export function canonicalKeys(table: TableNode): TableNode {
  const entries = new Map<string, Node>()
  for (const [key, node] of table.entries) {
    const name = nameByLower.get(key.toLowerCase()) ?? key
    entries.set(name !== key && table.entries.has(name) ? key : name, canonicalNode(node))
  }
  return { ...table, entries }
}

function canonicalNode(node: Node): Node {
  if (node.kind === 'table') return canonicalKeys(node)
  return node.kind === 'list' ? { ...node, items: node.items.map(canonicalNode) } : node
}

/** Paths of the keys of `[common]` and of proxies; others are written alike without their underscores. */
const paths: Readonly<Record<string, string>> = {
  token: 'auth.token',
  auth_token: 'auth.token',
  privilege_token: 'auth.token',
  privilege_mode: 'transport.privilegeMode',
  privilege_allow_ports: 'allowPorts',
  authentication_timeout: 'transport.authenticationTimeout',
  use_gzip: 'transport.useCompression',
  authentication_method: 'auth.method',
  authenticate_heartbeats: 'auth.heartbeats',
  authenticate_new_work_conns: 'auth.newWorkConns',
  subdomain_host: 'subDomainHost',
  vhost_http_port: 'vhostHTTPPort',
  vhost_https_port: 'vhostHTTPSPort',
  vhost_http_timeout: 'vhostHTTPTimeout',
  tcpmux_httpconnect_port: 'tcpmuxHTTPConnectPort',
  custom_404_page: 'custom404Page',
  protocol: 'transport.protocol',
  http_proxy: 'transport.proxyURL',
  pool_count: 'transport.poolCount',
  max_pool_count: 'transport.maxPoolCount',
  tcp_mux: 'transport.tcpMux',
  tcp_mux_keepalive_interval: 'transport.tcpMuxKeepaliveInterval',
  tcp_keepalive: 'transport.tcpKeepalive',
  heartbeat_interval: 'transport.heartbeatInterval',
  heartbeat_timeout: 'transport.heartbeatTimeout',
  dial_server_timeout: 'transport.dialServerTimeout',
  dial_server_keepalive: 'transport.dialServerKeepalive',
  connect_server_local_ip: 'transport.connectServerLocalIP',
  disable_custom_tls_first_byte: 'transport.tls.disableCustomTLSFirstByte',
  disable_log_color: 'log.disablePrintColor',
  assets_dir: 'webServer.assetsDir',
  pprof_enable: 'webServer.pprofEnable',
  local_ip: 'localIP',
  use_encryption: 'transport.useEncryption',
  use_compression: 'transport.useCompression',
  bandwidth_limit: 'transport.bandwidthLimit',
  bandwidth_limit_mode: 'transport.bandwidthLimitMode',
  proxy_protocol_version: 'transport.proxyProtocolVersion',
  group: 'loadBalancer.group',
  group_key: 'loadBalancer.groupKey',
  health_check_type: 'healthCheck.type',
  health_check_timeout_s: 'healthCheck.timeoutSeconds',
  health_check_max_failed: 'healthCheck.maxFailed',
  health_check_interval_s: 'healthCheck.intervalSeconds',
  health_check_url: 'healthCheck.path',
  health_check_http_headers: 'healthCheck.httpHeaders.all',
  sk: 'secretKey',
  http_user: 'httpUser',
  http_pwd: 'httpPassword',
  plugin: 'plugin.type'
}

/** Groups of keys that begin alike. The names below plugins, metadata and headers are those of the file. */
const groups: readonly (readonly [prefix: string, path: string])[] = [
  ['oidc_', 'auth.oidc.'],
  ['log_', 'log.'],
  ['admin_', 'webServer.'],
  ['dashboard_', 'webServer.'],
  ['tls_', 'transport.tls.'],
  ['quic_keepalive_period', 'transport.quic.keepalivePeriod'],
  ['quic_max_', 'transport.quic.max'],
  ['plugin_header_', 'plugin.requestHeaders.'],
  ['plugin_', 'plugin.'],
  ['meta_', 'metadatas.'],
  ['header_', 'requestHeaders.']
]

const lists = new Set(['customDomains', 'start', 'includes', 'allowPorts', 'ops', 'locations', 'allowUsers'])

/** Parses an INI file of frp into the tables that a TOML file would give. Throws `import_invalid`. */
export function parseLegacy(file: SourceFile): TableNode {
  const root = openTable(1, '')
  const proxies: TableNode[] = []
  const visitors: TableNode[] = []
  const plugins: TableNode[] = []
  for (const section of parseIni(file)) {
    const { name } = section
    const table = name === 'common' ? root : openTable(section.line, '')
    const value = name.replace(/^(range:|plugin\.)/, '')
    const key = name === 'common' ? 'common' : 'name'
    table.entries.set(key, { kind: 'scalar', line: section.line, text: section.text, value })
    fillTable(table, section)
    if (name === 'common') continue
    const isPlugin = name.startsWith('plugin.')
    const role = table.entries.get('role')
    if (isPlugin) plugins.push(table)
    else if (role?.kind === 'scalar' && role.value === 'visitor') visitors.push(table)
    else proxies.push(table)
  }
  const add = (key: string, items: TableNode[]): void => {
    if (items.length > 0) root.entries.set(key, { kind: 'list', line: 1, text: '', items })
  }
  add('proxies', proxies)
  add('visitors', visitors)
  add('httpPlugins', plugins)
  return root
}

function fillTable(table: TableNode, { entries }: IniSection): void {
  for (const { key, value, line, text } of entries) {
    const path = pathOf(key).split('.')
    const name = path.at(-1) ?? key
    let parent = table
    for (const part of path.slice(0, -1)) {
      const found = parent.entries.get(part)
      const child = found?.kind === 'table' ? found : openTable(line, '')
      parent.entries.set(part, child)
      parent = child
    }
    const earlier = parent.entries.get(name)
    if (earlier) parent.entries.set(repeatedKey(name, earlier.line), earlier)
    const items = lists.has(name) ? value.split(',').map(item => item.trim()) : null
    parent.entries.set(
      name,
      items === null
        ? { kind: 'scalar', line, text, value }
        : {
            kind: 'list',
            line,
            text,
            items: items.map(item => ({ kind: 'scalar', line, text, value: item }))
          }
    )
  }
}

const maxKeyLength = 200

/** `remote_port` becomes `remotePort`. Dots in names stay part of the last name. */
function pathOf(key: string): string {
  if (key.length > maxKeyLength) return key.replaceAll('.', ' ')
  const known = Object.hasOwn(paths, key) ? paths[key] : undefined
  if (known !== undefined) return known
  const [prefix = '', path = ''] = groups.find(([start]) => key.startsWith(start)) ?? []
  return `${path}${camelCase(key.slice(prefix.length)).replaceAll('.', ' ')}`
}

const camelCase = (key: string): string =>
  key.replaceAll(/_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
