// Wrong files, secrets, includes, bounds and options.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Fault } from '../../../kernel/base/errors.ts'
import { convert, formatDocument, type SourceName } from '../convert.ts'
import { type Environment, IncludeReader } from '../source-file.ts'

interface ConvertOptions {
  readonly client?: string
  readonly exit?: string
  readonly environment?: Environment
}

/** Converts a text as the file `edge.cfg`. */
function convertText(t: Test, source: SourceName, text: string | Buffer, options: ConvertOptions = {}) {
  const path = join(t.testdir(), 'edge.cfg')
  writeFileSync(path, text)
  return convert({ source, files: [path], client: undefined, owner: undefined, ...options })
}

for (const [title, source, text, line, why] of [
  ['an open block', 'nginx', 'stream {\n  server {\n    listen 1;\n', 4, /} is missing/],
  ['a brace too many', 'nginx', 'stream {\n}\n}\n', 3, /closes no block/],
  ['a directive without an end', 'nginx', 'stream {\n listen 1\n}\n', 3, /; is missing/],
  ['an open quote of nginx', 'nginx', 'user a;\nuser "b;\n', 2, /quote/],
  ['an open quote of HAProxy', 'haproxy', 'listen a\n bind :1\n server "x 10.0.0.1:1\n', 3, /quote/],
  ['a line outside of sections', 'haproxy', '\n\nbind :1\n', 3, /in no section/],
  ['wrong TOML', 'realm', '[log]\nlevel = "a"\n[[endpoints]]\nlisten = =\n', 4, /TOML/],
  ['a key given twice', 'realm', '[log]\nlevel = "a"\nlevel = "b"\n', 3, /TOML/],
  ['wrong JSON', 'realm', '{\n "endpoints": [\n {]\n}', 3, /JSON/],
  ['wrong YAML', 'gost', 'services:\n- name: a\n addr: b\n', 3, /YAML/],
  ['a list', 'gost', '- a\n- b\n', 1, /table/],
  ['a quote in a command line', 'gost', '# lines\ngost -L "tcp://:1/a:1\n', 2, /quote/],
  ['a rule outside of tables', 'iptables', '# a\n-A PREROUTING -j ACCEPT\n', 2, /outside a table/],
  ['iptables -L', 'iptables', '*nat\nChain PREROUTING (policy ACCEPT)\n', 2, /-A CHAIN/],
  ['a section of INI without an end', 'frp', '[common]\nbind_port = 1\n[ssh\n', 3, /\]/],
  ['a line before the first section', 'frp', 'type = tcp\n[common]\n', 1, /section/],
  ['wrong TOML of frp', 'frp', 'user = "a"\nserverPort = = 1\n', 2, /TOML/],
  ['wrong YAML of frp', 'frp', 'proxies:\n- name: a\n type: b\n', 3, /YAML/],
  ['a template without an end', 'frp', 'user = "a"\nserverAddr = "{{ .Envs.A"\n', 2, /}}/],
  ['a range without an end', 'frp', 'user = "a"\n\n{{ range parseNumberRange "1-2" }}\n', 3, /{{ end }}/],
  ['an end without a range', 'frp', 'user = "a"\n{{ end }}\n', 2, /closes no block/],
  ['lists of other lengths', 'frp', '\n{{ range parseNumberRangePair "1-2" "1" }}\n{{ end }}\n', 2, /differ/],
  ['wrong TOML of rathole', 'rathole', '[server]\nbind_addr = "a\n', 2, /TOML/],
  ['bytes that are not UTF-8', 'haproxy', Buffer.from('global\n# caf\xe9\n', 'latin1'), 2, /UTF-8/]
] as const)
  t.test(`${title} is an error that names the line`, async t => {
    const error = t.throws(() => convertText(t, source, text), Fault) as Fault

    t.match(error, { errorCode: { code: 'import_invalid', exit: 3 }, details: { line } })
    t.match(error.message, new RegExp(`edge\\.cfg:${line}: `))
    t.match(error.message, why)
  })

t.test('a file that cannot be read is an error', async t => {
  for (const path of [join(t.testdir(), 'missing.cfg'), t.testdir()])
    t.throws(() => convert({ source: 'haproxy', files: [path], client: undefined, owner: undefined }), {
      errorCode: { code: 'import_invalid' },
      message: /cannot be read/
    })
})

t.test('a file beyond 10 MiB is an error', async t => {
  t.throws(() => convertText(t, 'haproxy', `${'#'.repeat(99)}\n`.repeat(105_000)), {
    errorCode: { code: 'import_invalid' },
    message: /more than 10485760 bytes/
  })
})

t.test('more than 10,000 rules are refused', async t => {
  const { rules, report } = convertText(
    t,
    'haproxy',
    'listen a\n bind :1-10001\n server s 10.0.0.1:80\nlisten b\n bind :20000\n server s 10.0.0.1:80\n'
  )

  t.equal(rules.length, 1)
  t.match(report.rows, [{ line: 1, outcome: 'refused', reason: 'limit' }])
})

t.test('a wide range becomes rules of at most 1,024 ports', async t => {
  const { rules } = convertText(t, 'haproxy', 'listen a\n bind :1000-3500\n server s 10.0.0.1\n')

  t.match(rules, [
    { listen_port: 1000, listen_port_end: 2023 },
    { listen_port: 2024, listen_port_end: 3047 },
    { listen_port: 3048, listen_port_end: 3500, targets: [{ port: 3048 }] }
  ])
})

t.test('secrets are in neither document, report nor error', async t => {
  const secret = 'opensesame'
  const texts: readonly (readonly [SourceName, string])[] = [
    [
      'haproxy',
      `userlist u\n user ann password ${secret}\nfrontend f\n mode http\n stats auth a:${secret}\n`
    ],
    ['haproxy', `global\n setenv TOKEN ${secret}\n presetenv P "${secret} x"\n`],
    ['haproxy', `backend b\n tcp-check send AUTH\\ ${secret}\\r\\n\n`],
    ['nginx', `http {\n server {\n proxy_set_header Authorization "Basic ${secret}";\n } }\n`],
    ['nginx', `stream {\n js_var $secret_key ${secret};\n}\n`],
    [
      'gost',
      `services:\n- name: a\n  addr: :1\n  handler:\n    type: tcp\n    auth: {username: a, password: ${secret}}\n`
    ],
    ['gost', `{"services":[{"addr":":1","handler":{"type":"tcp","auth":{"password":"${secret}"}}}]}`],
    [
      'gost',
      `ServeNodes:\n- ann:${secret}@:80\n- tcp://:1/a:1?api_key=${secret}\nChainNodes: ["b:${secret}@a:1"]\n`
    ],
    ['gost', `services:\n- password: ${secret}\n  addr: :1\n`],
    ['gost', `services:\n- addr: "http://a:${secret}@10.0.0.1:80"\n`],
    ['gost', `gost -L tcp://ann:${secret}@:80/10.0.0.1:80 -F socks5://b:a/${secret}@10.0.0.1:1080`],
    ['gost', `gost -L "ss://chacha20:x@:80?api_key=${secret}"`],
    ['realm', `[[endpoints]]\nlisten = "0.0.0.0:1"\nremote = "a:1"\npassword = "${secret}"\n`],
    ['frp', `auth.token = "${secret}"\nmetadatas.any = "${secret}"\nbindPort = 1\n`],
    ['frp', `[auth.oidc]\nadditionalEndpointParams.any = "${secret}"\n`],
    ['frp', `transport.proxyURL = "http://a:${secret}@10.0.0.1:80"\nwebServer.password = "${secret}"\n`],
    [
      'frp',
      `[common]\nserver_addr = a\ntoken = ${secret}\nadmin_pwd = ${secret}\n[a]\nsk = ${secret}\nmeta_x = ${secret}\n`
    ],
    ['frp', `[common]\nserver_addr = a\n[a]\ntype = http\nheader_X-Any = ${secret}\nhttp_pwd = ${secret}\n`],
    [
      'frp',
      `proxies:\n- name: a\n  type: tcp\n  plugin: {type: https2http, requestHeaders: {set: {any: ${secret}}}}\n`
    ],
    [
      'frp',
      `proxies:\n- name: a\n  enabled: false\n  plugin: {type: socks5, requestHeaders: {set: {any: ${secret}}}}\n`
    ],
    ['frp', `proxies:\n- loadBalancer: {group: a, groupKey: ${secret}}\n`],
    ['frp', `proxies:\n- healthCheck: {type: http, httpHeaders: [{name: any, value: ${secret}}]}\n`],
    ['frp', `{{ if .Envs.A }}\nany = "${secret}"\n{{ end }}\nauth.token = "${secret}"\n`],
    ['frp', 'auth.token = "{{ .Envs.SECRET }}"\n'],
    [
      'frp',
      '[[proxies]]\nname = "a"\nsecretKey = "x{{ .Envs.SECRET }}"\nplugin.httpPassword = "{{ .Envs.SECRET }}"\n'
    ],
    [
      'rathole',
      `[server]\ndefault_token = "${secret}"\n[server.transport.tls]\npkcs12_password = "${secret}"\n[server.services.a]\ntoken = "${secret}"\nbind_addr = "0.0.0.0:1"\n`
    ],
    ['rathole', `[client.services]\na = { token = "${secret}", local_addr = "a:1" }\n`],
    ['realm', `[[endpoints]]\nx = { token = "${secret}" }\nlisten = "0.0.0.0:1"\nremote = "a:1"\n`]
  ]
  for (const [source, text] of texts) {
    const { rules, report } = convertText(t, source, text, { environment: { SECRET: secret } })

    t.notMatch(JSON.stringify([rules, report]), secret, text)
    t.ok(
      report.rows.some(({ reason }) => reason === 'secret'),
      text
    )
  }
  const broken = `services:\n- name: a\n  auth: "${secret}\n  b: [\n`
  const error = t.throws(() => convertText(t, 'gost', broken), Fault) as Fault
  t.notMatch(JSON.stringify([error.message, error.details]), secret)
})

t.test('includes outside of the directory are refused, also through links', async t => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-import-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  mkdirSync(join(dir, 'inside'))
  writeFileSync(join(dir, 'secret.conf'), 'server { listen 9; proxy_pass 10.0.0.9:9; }')
  writeFileSync(join(dir, 'inside/own.conf'), 'server { listen 8; proxy_pass 10.0.0.8:8; }')
  symlinkSync('../secret.conf', join(dir, 'inside/link.conf'))
  symlinkSync('..', join(dir, 'inside/up'))
  symlinkSync('own.conf', join(dir, 'inside/alias.conf'))
  const included = [
    '../secret.conf',
    'link.conf',
    'up/secret.conf',
    'up/*.conf',
    '/etc/hostname',
    'none.conf',
    '.'
  ]
  const outcomesOf = (paths: readonly string[]) => {
    const text = paths.map(path => `include ${path};\n`).join('')
    writeFileSync(join(dir, 'inside/main.conf'), `stream {\n${text}}\n`)
    const { rules, report } = convert({
      source: 'nginx',
      files: [join(dir, 'inside/main.conf')],
      client: 'paris',
      owner: undefined
    })
    const rows = report.rows.filter(row => row.text.startsWith('include'))
    return { ports: rules.map(rule => rule['listen_port']), outcomes: rows.map(({ outcome }) => outcome) }
  }

  t.same(outcomesOf(['alias.conf', join(dir, 'inside/own.conf')]), {
    ports: [8],
    outcomes: ['mapped', 'mapped']
  })
  t.same(outcomesOf([...included, 'own.conf']), {
    ports: [],
    outcomes: [...included.map(() => 'refused'), 'mapped']
  })
})

t.test('no server of nginx opens while an include of its stream may hold a filter', async t => {
  const server = 'server { listen 1; proxy_pass 10.0.0.1:1; }'
  for (const text of [`stream { ${server} include ../access.conf; }`, `include ../access.conf; ${server}`]) {
    const { rules, report } = convertText(t, 'nginx', text)

    t.same(rules, [])
    t.match(
      report.rows.filter(({ text }) => text === 'server' || text.startsWith('include')),
      [
        { outcome: 'refused', reason: 'include' },
        { outcome: 'refused', reason: 'include' }
      ]
    )
  }
  t.equal(convertText(t, 'nginx', `include ../modules.conf; stream { ${server} }`).rules.length, 1)
})

t.test('DNAT rules for other addresses of one port conflict, unless an earlier one takes all', async t => {
  const dnat = (place: string, host: string): string =>
    `-A PREROUTING ${place} -p tcp --dport 80 -j DNAT --to-destination ${host}:80\n`
  const rowsOf = (...lines: readonly string[]) => {
    const { rules, report } = convertText(t, 'iptables', `*nat\n${lines.join('')}`)
    return [rules.length, ...report.rows.slice(1).map(({ outcome, reason }) => `${outcome} ${reason}`)]
  }

  t.same(rowsOf(dnat('-d 192.0.2.1', '10.0.0.1'), dnat('-d 192.0.2.2', '10.0.0.2')), [
    1,
    'approximated listen_address',
    'refused listen_conflict'
  ])
  t.same(rowsOf(dnat('-i eth0', '10.0.0.1'), dnat('-i eth1', '10.0.0.2')), [
    1,
    'approximated listen_address',
    'refused listen_conflict'
  ])
  t.same(rowsOf(dnat('-d 192.0.2.1', '10.0.0.1'), dnat('-d 192.0.2.2', '10.0.0.1')), [
    1,
    'approximated listen_address',
    'approximated listen_address'
  ])
  t.same(rowsOf(dnat('', '10.0.0.1'), dnat('-d 192.0.2.2', '10.0.0.2')), [
    1,
    'approximated source_address',
    'ignored not_used'
  ])
  t.same(
    rowsOf(
      dnat('-d 192.0.2.1 -m statistic --mode random --probability 0.5', '10.0.0.1'),
      dnat('-d 192.0.2.1', '10.0.0.2')
    ),
    [1, 'approximated listen_address', 'approximated listen_address']
  )
})

t.test('an include of itself ends with an error', async t => {
  t.throws(() => convertText(t, 'nginx', 'stream { include edge.cfg; include edge.cfg; }'), {
    errorCode: { code: 'import_invalid' },
    message: /nested more than 8 deep/
  })
})

t.test('standard input has no includes', async t => {
  const includes = new IncludeReader('-', { client: 'import', bytes: 0 })

  t.equal(includes.read('nginx.conf', { file: 'stdin', line: 1, depth: 0 }), 'outside')
})

t.test('no import lets in callers that the source refuses', async t => {
  const listen = (lines: string) => `listen a\n bind :1\n${lines} server s 10.0.0.1:1\n`
  for (const [source, text] of [
    [
      'haproxy',
      listen(
        ' tcp-request connection reject if !{ src 192.168.0.0/16 }\n tcp-request connection accept if { src 10.0.0.0/8 }\n tcp-request connection reject\n'
      )
    ],
    [
      'haproxy',
      listen(' tcp-request connection accept if { src 10.0.0.0/8 }\n tcp-request content reject\n')
    ],
    [
      'haproxy',
      listen(
        ' tcp-request connection accept if { src 10.0.0.0/8 }\n tcp-request content accept if { src 192.168.0.0/16 }\n tcp-request content reject\n'
      )
    ],
    ['haproxy', listen(' tcp-request connection reject if { src,ipmask(24) 10.0.0.0 }\n')],
    [
      'nginx',
      'stream { server { listen 1 proxy_protocol; allow 10.0.0.0/8; deny all; proxy_pass 10.0.0.1:1; } }'
    ],
    [
      'nginx',
      'stream { deny 10.0.0.0/8; server { listen 1 proxy_protocol; set_real_ip_from lb.example.org; proxy_pass 10.0.0.1:1; } }'
    ],
    [
      'gost',
      'services:\n- addr: :1\n  admission: a\n  handler: {type: tcp}\n  forwarder: {nodes: [{addr: "10.0.0.1:1"}]}\nadmissions:\n- {name: a, whitelist: true, matchers: []}\n'
    ],
    [
      'iptables',
      '*nat\n-A PREROUTING -p tcp -j web\n-A web -p udp --dport 1 -j DNAT --to-destination 10.0.0.1\n'
    ]
  ] as const) {
    const { rules, report } = convertText(t, source, text)

    t.same(rules, [], text)
    t.ok(
      report.rows.some(({ outcome }) => outcome === 'refused'),
      text
    )
  }
})

t.test('a listener that only the host itself can reach stays closed to the network', async t => {
  for (const [source, text] of [
    [
      'iptables', // as Docker writes `-p 127.0.0.1:5432:5432`
      '*nat\n-A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER\n-A DOCKER -d 127.0.0.1/32 ! -i docker0 -p tcp --dport 1 -j DNAT --to-destination 172.17.0.2:1\n'
    ],
    ['iptables', '*nat\n-A PREROUTING -i lo -p tcp --dport 1 -j DNAT --to-destination 172.17.0.2:1\n'],
    ['haproxy', 'listen a\n bind :1 interface lo\n server s 10.0.0.1:1\n'],
    ['realm', '[[endpoints]]\nlisten = "0.0.0.0:1"\nremote = "a:1"\nlisten_interface = "lo"\n']
  ] as const) {
    const { rules } = convertText(t, source, text)

    t.match(rules, [{ listen_port: 1, allow_sources: ['127.0.0.0/8', '::1'] }], text)
  }
  const { rules } = convertText(
    t,
    'iptables',
    '*nat\n-A PREROUTING ! -d 127.0.0.0/8 -p tcp --dport 1 -j DNAT --to-destination 172.17.0.2:1\n'
  )
  t.equal(rules[0]?.['allow_sources'], undefined)
})

t.test('a default server of nginx without a name takes the other connections of its port', async t => {
  const server = (lines: string) => `server { listen 1${lines}; }\n`
  const { rules, report } = convertText(
    t,
    'nginx',
    `stream {\n${server('; server_name a.org; proxy_pass 10.0.0.1:1')}${server(' default_server; proxy_pass 10.0.0.2:1')}}\n`
  )

  t.match(rules, [
    { listen_port: 1, sni_pattern: 'a.org' },
    { listen_port: 1, sni_fallback: true, targets: [{ host: '10.0.0.2' }] }
  ])
  t.notOk(report.rows.some(({ outcome }) => outcome === 'refused'))
})

t.test('an accept for TLS beside a filter of sources is converted', async t => {
  const { rules } = convertText(
    t,
    'haproxy',
    'listen a\n bind :1\n tcp-request content accept if { req_ssl_hello_type 1 }\n tcp-request connection reject if { src 10.0.0.1 }\n server s 10.0.0.1:1\n'
  )

  t.match(rules, [{ deny_sources: ['10.0.0.1'] }])
})

t.test('a tcp-request that only counts, marks or captures does not close the rule', async t => {
  const lines = [
    'connection track-sc0 src',
    'content capture req.ssl_sni len 64',
    'content set-var(txn.name) req.ssl_sni',
    'session sc-inc-gpc0(0)',
    'connection silent-drop if { src 192.0.2.0/24 }'
  ].map(line => ` tcp-request ${line}\n`)
  const { rules, report } = convertText(
    t,
    'haproxy',
    `listen a\n bind :1\n${lines.join('')} server s 10.0.0.1:1\n.notice "ready"\n`
  )

  t.match(rules, [{ listen_port: 1, deny_sources: ['192.0.2.0/24'] }])
  t.notOk(report.rows.some(({ outcome }) => outcome === 'refused'))
})

t.test('a reject by the connections of a caller becomes a limit of each source', async t => {
  const listen = (table: string, test: string) =>
    `listen a\n bind :1\n${table} tcp-request connection track-sc0 src\n tcp-request connection reject if ${test}\n server s 10.0.0.1:1\n`
  const table = (store: string) => ` stick-table type ip size 1m expire 60s store ${store}\n`
  for (const [text, limit] of [
    [listen(table('conn_cur'), '{ src_conn_cur ge 10 }'), { connections: 9 }],
    [listen(table('conn_cur'), '{ sc_conn_cur(0) gt 10 }'), { connections: 10 }],
    [
      listen(table('conn_cur,conn_rate(30s)'), '{ sc0_conn_rate gt 20 }'),
      { new_connections: 20, within_secs: 30 }
    ],
    [listen('', '{ src_conn_rate gt 20 }'), null],
    [listen(table('conn_rate(500ms)'), '{ src_conn_rate gt 20 }'), null],
    [listen(table('conn_cur'), '{ src_conn_cur lt 10 }'), null],
    [listen(table('conn_cur'), '!{ src_conn_cur gt 10 }'), null],
    [listen(table('conn_cur'), '{ src_conn_cur gt 10 } { src 10.0.0.0/8 }'), null],
    [listen(table('conn_cur'), '{ src_conn_cur gt 10 }').replace('bind :1', 'bind :1 accept-proxy'), null]
  ] as const) {
    const { rules, report } = convertText(t, 'haproxy', text)

    t.same(
      rules.map(({ source_limit }) => source_limit),
      limit === null ? [] : [limit],
      text
    )
    t.equal(
      report.rows.some(({ outcome }) => outcome === 'refused'),
      limit === null
    )
  }
})

t.test('parts of the callers of nginx become weights of the targets', async t => {
  const stream = (parts: string) =>
    `stream {\n upstream old { server 10.0.0.1:1; server 10.0.0.2:1; }\n split_clients "\${remote_addr}x" $to {\n ${parts}\n }\n server { listen 1; proxy_pass $to; }\n}\n`
  const { rules, report } = convertText(t, 'nginx', stream('20% 10.0.0.3:1;\n * old;'))

  t.match(rules, [{ listen_port: 1, balance: 'source_hash' }])
  t.same(rules[0]?.['targets'], [
    { host: '10.0.0.3', port: 1, priority: 0 },
    { host: '10.0.0.1', port: 1, priority: 0, weight: 2 },
    { host: '10.0.0.2', port: 1, priority: 0, weight: 2 }
  ])
  t.match(
    report.rows.find(({ line }) => line === 3),
    { outcome: 'approximated', reason: 'balance' }
  )
  for (const parts of ['* $other;', '* "";', '* unix:/run/a;', 'half old;'])
    t.same(convertText(t, 'nginx', stream(parts)).rules, [], parts)
})

t.test('a map of nginx that only declares a variable is its default', async t => {
  const stream = (map: string) =>
    `stream {\n map "" $to { ${map} }\n server { listen 1; proxy_pass $to; }\n}\n`
  const { rules, report } = convertText(t, 'nginx', stream('default db.example.org:5432;'))

  t.match(rules, [{ listen_port: 1, targets: [{ host: 'db.example.org', port: 5432 }] }])
  t.notOk(report.rows.some(({ outcome }) => outcome !== 'mapped'))
  t.same(convertText(t, 'nginx', stream('default $other;')).rules, [])
})

t.test('a DNAT of only the port leads to the host itself, as a REDIRECT does', async t => {
  const { rules } = convertText(
    t,
    'iptables',
    '*nat\n-A PREROUTING -p udp -m udp --dport 5000:5001 -j DNAT --to-destination :6000\n'
  )

  t.match(rules, [
    { listen_port: 5000, protocol: 'udp', targets: [{ host: '127.0.0.1', port: 6000 }] },
    { listen_port: 5001 }
  ])
})

t.test('two URLs of gost with one host are one client', async t => {
  const { report } = convertText(
    t,
    'gost',
    'gost -L tcp://:1/10.0.0.1:1 -F socks5://192.0.2.9:1080\ngost -L tcp://:2/10.0.0.1:1 -F sshd://192.0.2.9:22,192.0.2.9:23\n'
  )

  t.same(report.clients, ['192.0.2.9', 'edge'])
})

t.test('a filter in a condition of HAProxy leaves the rule out', async t => {
  const { rules } = convertText(
    t,
    'haproxy',
    'listen a\n bind :1\n.if defined(STRICT)\n tcp-request connection reject if !{ src 10.0.0.0/8 }\n.endif\n server s 10.0.0.1:1\n'
  )

  t.same(rules, [])
})

t.test('a filter that a rule cannot express leaves the rule out', async t => {
  for (const [source, text] of [
    [
      'haproxy',
      'listen a\n bind :1\n tcp-request connection accept if !{ src 10.0.0.1 }\n tcp-request connection reject\n server s 10.0.0.1:1\n'
    ],
    ['haproxy', 'listen a\n bind :1\n tcp-request connection reject\n server s 10.0.0.1:1\n'],
    [
      'haproxy',
      'defaults d\n tcp-request connection reject if { src_conn_cnt gt 9 }\nlisten a from d\n bind :1\n server s 10.0.0.1:1\n'
    ],
    ['nginx', 'stream { server { listen 1; include ../access.conf; proxy_pass 10.0.0.1:1; } }'],
    [
      'haproxy',
      'listen a\n bind :1\n tcp-request connection reject if { src 10.0.0.1 } { dst_port 1 }\n server s 10.0.0.1:1\n'
    ],
    [
      'haproxy',
      'listen a\n bind :1\n tcp-request connection reject if { src -f list }\n server s 10.0.0.1:1\n'
    ],
    [
      'haproxy',
      'listen a\n bind :1 accept-proxy\n tcp-request connection reject if !{ src 10.0.0.1 }\n server s 10.0.0.1:1\n'
    ],
    [
      'haproxy',
      'defaults d\n mode tcp\n tcp-request content reject if !{ src 10.0.0.1 }\nbackend b from d\n server s 10.0.0.1:1\ndefaults e\n mode tcp\nfrontend f from e\n bind :1\n default_backend b\n'
    ],
    [
      'gost',
      'services:\n- addr: :1\n  admission: a\n  handler: {type: tcp}\n  forwarder: {nodes: [{addr: "10.0.0.1:1"}]}\nadmissions:\n- name: a\n  matchers: {cidr: 10.0.0.0/8}\n'
    ],
    [
      'haproxy',
      'listen a\n bind :1\n tcp-request content reject unless { src_conn_rate lt 9 }\n server s 10.0.0.1:1\n'
    ],
    [
      'haproxy',
      'listen a\n bind :1\n tcp-request connection accept if { src 10.0.0.1 }\n tcp-request connection reject if { src 10.0.0.0/8 }\n server s 10.0.0.1:1\n'
    ],
    [
      'nginx',
      'stream { server { listen 1; allow 10.0.0.0/8; deny 10.1.0.0/16; deny all; proxy_pass 10.0.0.1:1; } }'
    ],
    ['nginx', 'stream { server { listen 1; deny all; proxy_pass 10.0.0.1:1; } }'],
    ['nginx', 'stream { deny unix:; server { listen 1; proxy_pass 10.0.0.1:1; } }'],
    ['nginx', 'stream { server { listen 1; js_access a.b; proxy_pass 10.0.0.1:1; } }'],
    [
      'iptables',
      '*nat\n-A PREROUTING -p tcp --dport 1 -m mac --mac-source 00:11:22:33:44:55 -j DNAT --to-destination 10.0.0.1\n'
    ],
    [
      'iptables',
      '*nat\n-A PREROUTING -s 10.0.0.0/8 -p tcp --dport 2 -j RETURN\n-A PREROUTING -p tcp --dport 1:3 -j DNAT --to-destination 10.0.0.1\n'
    ],
    [
      'gost',
      'services:\n- addr: :1\n  admission: a\n  handler: {type: tcp}\n  forwarder: {nodes: [{addr: "10.0.0.1:1"}]}\nadmissions:\n- name: a\n  matchers: ["example.org"]\n'
    ],
    [
      'gost',
      'services:\n- addr: :1\n  admission: b\n  handler: {type: tcp}\n  forwarder: {nodes: [{addr: "10.0.0.1:1"}]}\n'
    ],
    ['nginx', 'stream { server { listen 127.0.0.1:1; allow 127.0.0.2; deny all; proxy_pass 10.0.0.1:1; } }']
  ] as const) {
    const { rules, report } = convertText(t, source, text)

    t.same(rules, [], text)
    t.ok(
      report.rows.some(({ outcome }) => outcome === 'refused'),
      text
    )
  }
})

t.test('the filters that a rule can express are kept', async t => {
  for (const [source, text, expected] of [
    [
      'haproxy',
      'listen a\n bind :1\n acl ok src 10.0.0.0/8\n tcp-request connection accept if ok\n tcp-request connection reject\n server s 10.0.0.1:1\n',
      { allow_sources: ['10.0.0.0/8'] }
    ],
    [
      'haproxy',
      'listen a\n bind :1\n tcp-request connection expect-proxy layer4 if { src 10.0.0.0/8 }\n server s 10.0.0.1:1\n',
      { proxy_in: ['10.0.0.0/8'] }
    ],
    [
      'haproxy',
      'listen a\n bind :1\n tcp-request connection reject unless { src 10.0.0.0/8 }\n server s 10.0.0.1:1\n',
      { allow_sources: ['10.0.0.0/8'] }
    ],
    [
      'nginx',
      'stream { server { listen 1; deny 10.1.0.0/16; allow 10.0.0.0/8; deny all; proxy_pass 10.0.0.1:1; } }',
      { allow_sources: ['10.0.0.0/8'], deny_sources: ['10.1.0.0/16'] }
    ],
    [
      'realm',
      '[[endpoints]]\nlisten = "127.0.0.1:1"\nremote = "10.0.0.1:1"\n',
      { allow_sources: ['127.0.0.0/8', '::1'] }
    ],
    [
      'haproxy',
      'listen a\n bind [::1]:1 accept-proxy\n server s 10.0.0.1:1\n',
      { proxy_in: ['127.0.0.0/8', '::1'] }
    ],
    [
      'iptables',
      '*nat\n-A PREROUTING -p tcp -m iprange --src-range 10.0.0.1-10.0.0.3 --dport 1 -j DNAT --to-destination 10.0.0.1\n',
      { allow_sources: ['10.0.0.1', '10.0.0.2', '10.0.0.3'] }
    ]
  ] as const) {
    const { rules } = convertText(t, source, text)

    t.match(rules, [expected], text)
  }
})

t.test('a reject after TLS is accepted keeps the rules by TLS name', async t => {
  const { rules, report } = convertText(
    t,
    'haproxy',
    `frontend f
 bind :1
 tcp-request content accept if { req_ssl_hello_type 1 }
 tcp-request content reject
 use_backend b if { req_ssl_sni -i a.example.org }
backend b
 server s 10.0.0.1:1 slowstart 60s
 server r 10.0.0.2:1
`
  )

  t.match(rules, [{ sni_pattern: 'a.example.org', slow_start_secs: 60 }])
  t.match(
    report.rows.find(({ line }) => line === 4),
    { outcome: 'approximated', reason: 'acl' }
  )
})

t.test('lists of URLs of gost 2 become rules, with the nodes of their chain as path', async t => {
  const { rules, report } = convertText(
    t,
    'gost',
    JSON.stringify({
      Debug: true,
      ServeNodes: ['tcp://:1/10.0.0.1:1', 'udp://:2/10.0.0.1:2'],
      Routes: [{ ServeNodes: ['tcp://:3/10.0.0.1:3'], ChainNodes: ['socks5://a:opensesame@10.0.0.9:1080'] }]
    })
  )

  t.match(rules, [
    { listen_port: 1 },
    { listen_port: 2, protocol: 'udp' },
    { listen_port: 3, via: '10.0.0.9' }
  ])
  t.equal(rules.length, 3)
  t.notMatch(JSON.stringify(report), 'opensesame')
  t.notOk(report.rows.some(({ outcome }) => outcome === 'refused'))
})

/** A service of gost on port 1, with these handler, listener and chain. */
const chained = (handler: string, listener: string, chain: string): string =>
  `services:\n- addr: :1\n  handler: ${handler}\n  listener: ${listener}\n  forwarder: {nodes: [{addr: "10.0.0.1:80"}]}\nchains:\n- name: c\n  hops:\n${chain}`

t.test('each URL and each target in a list of gost has its own row', async t => {
  const { report } = convertText(
    t,
    'gost',
    '{\n"ServeNodes": [\n"tcp://:1/10.0.0.1:1",\n"http://a:opensesame@:2"\n]\n}\n'
  )

  t.match(
    report.rows.map(({ line, outcome, reason }) => [line, outcome, reason]),
    [
      [2, 'ignored', 'structure'],
      [3, 'mapped', null],
      [4, 'refused', 'secret']
    ]
  )
  t.notMatch(JSON.stringify(report), 'opensesame')
  const yaml =
    'services:\n- addr: :1\n  handler: {type: tcp}\n  forwarder:\n    targets:\n    - 10.0.0.1:1\n    - 10.0.0.1:1\n'
  t.match(
    convertText(t, 'gost', yaml).report.rows.filter(({ line }) => line > 5),
    [
      { line: 6, to: 'rules[0].targets[0]' },
      { line: 7, reason: 'duplicate_target' }
    ]
  )
})

t.test('a node of gost that HTTP chooses gives its service the reason', async t => {
  const { rules, report } = convertText(
    t,
    'gost',
    'services:\n- addr: :1\n  handler: {type: tcp}\n  forwarder: {nodes: [{addr: "10.0.0.1:1", matcher: {rule: "Host(`a`)"}}]}\n'
  )

  t.same(rules, [])
  t.same([...new Set(report.rows.map(({ reason }) => reason))], ['http_routing'])
})

t.test('a chain of gost is the path of its rules, in the order of its hops', async t => {
  const hops =
    '  - nodes: [{name: x, addr: "a:1"}]\n  - nodes: [{name: y, addr: "b:1"}, {name: z, addr: "c:1"}]\n'
  const local = convertText(t, 'gost', chained('{type: tcp, chain: c}', '{type: tcp}', hops))
  const [rule] = local.rules

  t.match(rule, { client: 'edge', listen_port: 1 })
  t.same(rule?.['targets'], [
    { host: '10.0.0.1', port: 80, via: ['x', 'y'], priority: 0 },
    { host: '10.0.0.1', port: 80, via: ['x', 'z'], priority: 0 }
  ])
  t.same(local.report.clients, ['edge', 'x', 'y', 'z'])
  const names = '  - nodes: [{name: n, addr: "a:1"}]\n  - nodes: [{name: n, addr: "b:1"}]\n'
  const [same] = convertText(t, 'gost', chained('{type: tcp, chain: c}', '{type: tcp}', names)).rules
  t.match(same, { via: ['n', 'n-2'] })
})

t.test('remote forwarding of gost opens the port on the last node of its chain', async t => {
  const hops = '  - nodes: [{name: x, addr: "a:1"}]\n  - nodes: [{name: y, addr: "b:1"}]\n'
  const { rules } = convertText(t, 'gost', chained('{type: rtcp}', '{type: rtcp, chain: c}', hops))
  const { rules: own } = convertText(t, 'gost', 'gost -L rtcp://:5/10.0.0.2:22')

  t.match(rules, [{ client: 'y', listen_port: 1, via: ['x', 'edge'], targets: [{ host: '10.0.0.1' }] }])
  t.match(own, [{ client: 'edge', listen_port: 5, targets: [{ port: 22 }] }])
  t.notOk('via' in (own[0] ?? {}), 'without a chain, the port is on the host itself')
})

t.test('a chain of gost that a path cannot express leaves the rule out', async t => {
  const node = '{name: x, addr: "a:1"}'
  for (const [handler, listener, hops] of [
    ['{type: tcp, chain: c}', '{type: tcp}', '  - nodes: [{addr: "a:1", connector: {type: forward}}]\n'],
    ['{type: tcp, chain: c}', '{type: tcp}', `  - bypass: b\n    nodes: [${node}]\n`],
    ['{type: tcp, chain: c}', '{type: tcp}', '  - nodes: [{addr: "a:1", filter: {host: h}}]\n'],
    ['{type: tcp, chain: c}', '{type: tcp}', '  - name: missing\n'],
    ['{type: tcp, chain: d}', '{type: tcp}', `  - nodes: [${node}]\n`],
    ['{type: tcp, chainGroup: {chains: [c]}}', '{type: tcp}', `  - nodes: [${node}]\n`],
    ['{type: tcp, chain: c}', '{type: tcp}', `  - nodes: [${node}]\n`.repeat(2)],
    [
      '{type: tcp, chain: c}',
      '{type: tcp}',
      '  - nodes: [{addr: "a:1"}, {addr: "b:1"}, {addr: "c:1"}]\n'.repeat(2)
    ],
    [
      '{type: tcp, chain: c}',
      '{type: tcp}',
      '  - nodes: [{addr: "a:1"}]\n  - nodes: [{addr: "b:1"}]\n  - nodes: [{addr: "c:1"}]\n  - nodes: [{addr: "d:1"}]\n'
    ],
    ['{type: rtcp}', '{type: rtcp, chain: c}', `  - nodes: [${node}, {addr: "b:1"}]\n`],
    ['{type: udp, chain: c}', '{type: udp}', `  - nodes: [${node}]\n`]
  ] as const) {
    const { rules, report } = convertText(t, 'gost', chained(handler, listener, hops))

    t.same(rules, [], hops)
    t.ok(report.rows.some(({ outcome, reason }) => outcome === 'refused' && reason !== 'unknown_statement'))
  }
})

t.test('each port of a target range of gost is a target of a single listen port', async t => {
  const { rules } = convertText(
    t,
    'gost',
    'gost -L tcp://:1/10.0.0.1:80-82 -L tcp://:10-12/10.0.0.1:80-82 -L tcp://:2/10.0.0.1:1-65535\n'
  )

  t.match(rules[0], { listen_port: 1, targets: [{ port: 80 }, { port: 81 }, { port: 82 }] })
  t.match(rules[1], { listen_port: 10, listen_port_end: 12, targets: [{ port: 80 }] })
  t.equal((rules[2]?.['targets'] as unknown[] | undefined)?.length, 8)
})

t.test('an admission in a URL of gost becomes the filter of its rule', async t => {
  const { rules } = convertText(
    t,
    'gost',
    `gost -L tcp://:1/10.0.0.1:1?admission=~192.0.2.0/24,198.51.100.7
gost -L tcp://:2/10.0.0.1:1?admission=192.0.2.0/24
gost -L tcp://:3/10.0.0.1:1?admission=~host.example.org
gost -L tcp://:4/10.0.0.1:1?admission=~
`
  )

  t.match(rules, [
    { listen_port: 1, allow_sources: ['192.0.2.0/24', '198.51.100.7'] },
    { listen_port: 2, deny_sources: ['192.0.2.0/24'] }
  ])
  t.equal(rules.length, 2)
})

t.test('a forwarder of gost may name its hop in name', async t => {
  const { rules } = convertText(
    t,
    'gost',
    'services:\n- addr: :1\n  handler: {type: tcp}\n  forwarder: {name: h}\nhops:\n- name: h\n  nodes: [{addr: "10.0.0.1:1"}]\n'
  )

  t.match(rules, [{ listen_port: 1, targets: [{ host: '10.0.0.1' }] }])
})

t.test('nodes of gost that are named like another file are the client of that file', async t => {
  const folder = t.testdir({
    'far.yml':
      'services:\n- addr: :2\n  handler: {type: tcp}\n  forwarder: {nodes: [{addr: "10.0.0.3:3"}]}\n',
    'near.yml': chained('{type: tcp, chain: c}', '{type: tcp}', '  - nodes: [{name: far, addr: "a:1"}]\n')
  })
  const files = ['near.yml', 'far.yml'].map(name => join(folder, name))
  const { report } = convert({ source: 'gost', files, client: undefined, owner: undefined })

  t.same(report.clients, ['far', 'near'])
})

t.test('a prompt, sudo and a continued line do not hide a command of gost', async t => {
  const { rules, report } = convertText(
    t,
    'gost',
    '# comment\n$ sudo ./gost -L tcp://:1/10.0.0.1:1 \\\n  -L udp://:2/10.0.0.1:2\n# gost -L tcp://:3/10.0.0.1:3\n'
  )

  t.match(rules, [{ listen_port: 1 }, { listen_port: 2 }, { listen_port: 3 }])
  t.same(
    report.rows.filter(({ to }) => to !== null).map(({ line }) => line),
    [2, 3, 4]
  )
})

t.test('the name bypass is no secret', async t => {
  const { report } = convertText(t, 'gost', 'services:\n- addr: :1\n  bypass: own-net\n')

  t.match(report.rows, [{}, {}, { text: 'bypass: own-net', outcome: 'refused', reason: /^(?!secret)/ }])
})

t.test('ports that a chain of iptables names again are those that both name', async t => {
  const { rules, report } = convertText(
    t,
    'iptables',
    `*nat
-A PREROUTING -m addrtype --dst-type LOCAL -j HOSTPORT
-A HOSTPORT -p tcp -m multiport --dports 80,443 -j POD
-A HOSTPORT -p tcp -m multiport --dports 90 -j OTHER
-A POD -s 127.0.0.1/32 -p tcp -m tcp --dport 80 -j MASQ
-A POD -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.85.0.2:8080
-A POD -p tcp -m tcp --dport 400:500 -j DNAT --to-destination 10.85.0.2:8443
-A OTHER -p tcp -m tcp --dport 91 -j DNAT --to-destination 10.85.0.3:91
-A MASQ -j MARK --set-xmark 0x2000/0x2000
COMMIT
`
  )

  t.match(rules, [
    { listen_port: 80, targets: [{ host: '10.85.0.2', port: 8080 }] },
    { listen_port: 443, targets: [{ port: 8443 }] }
  ])
  t.equal(rules.length, 2)
  t.match(
    report.rows.find(({ line }) => line === 8),
    { outcome: 'refused', reason: 'match' }
  )
})

t.test('a pass of nginx becomes a target, unless it ends TLS', async t => {
  const server = (listen: string, pass: string) => `server { listen ${listen}; pass ${pass}; }\n`
  const { rules, report } = convertText(
    t,
    'nginx',
    `stream {\n${server('1', '127.0.0.1:81')}${server('2 ssl', '127.0.0.1:82')}${server('3', 'unix:/run/a')}}\n`
  )

  t.match(rules, [{ listen_port: 1, targets: [{ host: '127.0.0.1', port: 81 }] }])
  t.equal(rules.length, 1)
  t.match(
    report.rows.filter(({ text }) => text.startsWith('pass')),
    [
      { outcome: 'approximated', reason: 'source_address' },
      { reason: 'tls_termination' },
      { reason: 'unix_socket' }
    ]
  )
})

t.test('a match of nginx is a difference of the health check that names it', async t => {
  const { rules, report } = convertText(
    t,
    'nginx',
    `stream {
 match greeting { expect "220"; }
 match spare { send "x"; }
 server { listen 1; proxy_pass 10.0.0.1:1; health_check match=greeting; health_check_timeout 2s; }
 server { listen 2 udp; proxy_pass 10.0.0.1:2; health_check udp; }
}
`
  )

  t.match(rules, [{ health_check_interval_secs: 5 }, { protocol: 'udp' }])
  t.notOk(report.rows.some(({ outcome }) => outcome === 'refused'))
  t.match(
    report.rows.filter(({ line }) => line === 2 || line === 3).map(({ outcome }) => outcome),
    ['approximated', 'approximated', 'ignored', 'ignored']
  )
  t.match(
    report.rows.find(({ text }) => text === 'health_check udp'),
    { to: 'rules[1]' }
  )
})

t.test('a map of nginx by another variable is refused with the server that uses it', async t => {
  const { rules, report } = convertText(
    t,
    'nginx',
    'stream {\n map $ssl_preread_alpn_protocols $to {\n h2 10.0.0.1:1;\n }\n server { listen 1; ssl_preread on; proxy_pass $to; }\n}\n'
  )

  t.same(rules, [])
  t.match(
    report.rows.filter(({ line }) => line === 2 || line === 3),
    [
      { outcome: 'refused', reason: 'variable' },
      { outcome: 'refused', reason: 'variable' }
    ]
  )
})

t.test('an endpoint of realm may name its address local', async t => {
  const { rules } = convertText(t, 'realm', '{"endpoints":[{"local":"0.0.0.0:5","remote":"10.0.0.1:6"}]}')

  t.match(rules, [{ listen_port: 5, targets: [{ port: 6 }] }])
})

t.test('chains of Kubernetes become one rule with a target for each endpoint', async t => {
  const { rules } = convertText(
    t,
    'iptables',
    `*nat
-A PREROUTING -m comment --comment "kubernetes service portals" -j SERVICES
-A SERVICES -m addrtype --dst-type LOCAL -j NODEPORTS
-A NODEPORTS -p tcp -m tcp --dport 30080 -j EXT
-A EXT -j MASQ
-A EXT -j SVC
-A SVC -m statistic --mode random --probability 0.33333333349 -j SEP1
-A SVC -m statistic --mode random --probability 0.50000000000 -j SEP2
-A SVC -j SEP3
-A SEP1 -s 10.244.0.2/32 -j MASQ
-A SEP1 -p tcp -m tcp -j DNAT --to-destination 10.244.0.2:80
-A SEP2 -p tcp -m tcp -j DNAT --to-destination 10.244.0.3:80
-A SEP3 -p tcp -m tcp -j DNAT --to-destination 10.244.0.4:80
-A MASQ -j MARK --set-xmark 0x4000/0x4000
COMMIT
`
  )

  t.match(rules, [{ listen_port: 30080, balance: 'round_robin' }])
  t.match(rules[0]?.['targets'], [{ host: '10.244.0.2' }, { host: '10.244.0.3' }, { host: '10.244.0.4' }])
})

t.test('two listeners on one port: the first stays, an equal one is the same rule', async t => {
  const { rules, report } = convertText(
    t,
    'haproxy',
    'listen a\n bind 0.0.0.0:1\n bind [::]:1\n server s 10.0.0.1:1\nlisten b\n bind :1\n server s 10.0.0.2:1\n'
  )

  t.match(rules, [{ name: 'a', listen_port: 1 }])
  t.equal(rules.length, 1)
  t.match(
    report.rows.filter(({ outcome }) => outcome === 'refused').map(({ line }) => line),
    [5, 6, 7]
  )
})

t.test('an empty document has no list of rules, so that --prune removes nothing', async t => {
  const { rules } = convertText(t, 'haproxy', 'global\n')

  t.equal(formatDocument(rules, 'toml'), '')
  t.equal(formatDocument(rules, 'json'), '{}')
})

t.test('several files are one configuration', async t => {
  const dir = t.testdir({
    '1.cfg': 'defaults\n mode tcp\nfrontend a\n bind :1\n default_backend b\n',
    '2.cfg': 'backend b\n server s 10.0.0.1:1\n'
  })
  const { rules, report } = convert({
    source: 'haproxy',
    files: [join(dir, '1.cfg'), join(dir, '2.cfg')],
    client: undefined,
    owner: 'ann'
  })

  t.match(rules, [{ client: '1', owner: 'ann', targets: [{ host: '10.0.0.1' }] }])
  t.same(report.clients, ['1'])
  t.match(readFileSync(join(dir, '1.cfg'), 'utf8'), /frontend/)
})

const proxy = (port: number | string, more = ''): string =>
  `[[proxies]]\nname = "p"\ntype = "tcp"\nlocalPort = 80\nremotePort = ${port}\n${more}`

/** Converts several files of a source. */
function convertFiles(
  t: Test,
  source: SourceName,
  files: Readonly<Record<string, string>>,
  options: ConvertOptions = {}
) {
  const dir = t.testdir({ ...files })
  const paths = Object.keys(files).map(file => join(dir, file))
  return convert({ source, files: paths, client: undefined, owner: undefined, ...options })
}

t.test('no proxy of frp opens that its frps would refuse, or whose callers it may refuse', async t => {
  for (const [server, reason] of [
    ['httpPlugins = [{ name = "a", ops = ["Login", "NewUserConn"] }]', 'plugin'],
    ['httpPlugins = [{ name = "a" }]', 'plugin'],
    ['allowPorts = [{ start = 10, end = 20 }]', 'port'],
    ['allowPorts = [{ start = "x", end = 20 }]', 'port']
  ] as const) {
    const files = { 'frps.toml': `bindPort = 7000\n${server}\n`, 'frpc.toml': proxy(21) }
    const { rules, report } = convertFiles(t, 'frp', files)

    t.same(rules, [], server)
    t.match(report.rows.at(-1), { text: 'remotePort = 21', outcome: 'refused', reason })
  }
  const allowed = {
    'frps.toml': 'allowPorts = [{ start = 10, end = 20 }, { single = 21 }]\n',
    'frpc.toml': proxy(21)
  }
  t.match(convertFiles(t, 'frp', allowed).rules, [{ client: 'frps', listen_port: 21, via: 'frpc' }])
})

t.test('a frps that only the host itself can reach stays closed to the network', async t => {
  const files = { 'frps.toml': 'bindPort = 7000\nproxyBindAddr = "127.0.0.1"\n', 'frpc.toml': proxy(21) }

  t.match(convertFiles(t, 'frp', files).rules, [{ allow_sources: ['127.0.0.0/8', '::1'] }])
})

t.test('rules go to the client of --client, and targets to that of --exit', async t => {
  const files = { 'frps.toml': 'bindPort = 7000\n', 'frpc.toml': proxy(21), 'other.toml': proxy(22) }
  const both = convertFiles(t, 'frp', files, { client: 'paris', exit: 'home' })

  t.match(both.rules, [
    { client: 'paris', via: 'home', listen_port: 21 },
    { client: 'paris', via: 'home', listen_port: 22 }
  ])
  t.same(both.report.clients, ['home', 'paris'])
  const listen = 'listen a\n bind :1\n server s 10.0.0.1:1\n'
  t.match(convertText(t, 'haproxy', listen, { exit: 'home' }).rules, [{ client: 'edge', via: 'home' }])
  const [own] = convertText(t, 'haproxy', listen, { client: 'home', exit: 'home' }).rules
  t.equal(own?.['via'], undefined, 'a client is no exit of itself')
})

t.test('a UDP rule is refused with a path, and made without one', async t => {
  const files = { 'frps.toml': 'bindPort = 7000\n', 'frpc.toml': proxy(21).replace('"tcp"', '"udp"') }

  const { rules, report } = convertFiles(t, 'frp', files)
  t.same(rules, [])
  t.same(report.clients, [])
  t.match(report.rows.at(-1), { outcome: 'refused', reason: 'udp_over_link' })
  t.match(convertFiles(t, 'frp', files, { client: 'home', exit: 'home' }).rules, [
    { client: 'home', protocol: 'udp', listen_port: 21 }
  ])
})

t.test('a frpc belongs to the frps before it, and equal names get numbers', async t => {
  const dir = t.testdir({
    a: { 'frps.toml': 'bindPort = 1\n', 'frpc.toml': proxy(21) },
    b: { 'frps.toml': 'bindPort = 1\n', 'frpc.toml': proxy(21) },
    c: { 'frpc.toml': 'user = "frpc"\n' }
  })
  const paths = ['a/frps.toml', 'a/frpc.toml', 'b/frps.toml', 'b/frpc.toml', 'c/frpc.toml']
  const files = paths.map(path => join(dir, path))
  const { rules, report } = convert({ source: 'frp', files, client: undefined, owner: undefined })

  t.match(rules, [
    { client: 'frps', via: 'frpc' },
    { client: 'frps-2', via: 'frpc-2' }
  ])
  t.same(report.clients, ['frpc', 'frpc-2', 'frps', 'frps-2'])
})

t.test('a key that an INI file of frp repeats has its last value', async t => {
  const { rules, report } = convertText(
    t,
    'frp',
    '[common]\nserver_addr = a\n[web]\nsk = opensesame\nsk = opensesame\nlocal_port = 80\nremote_port = 1\nremote_port = 2\n'
  )

  t.match(rules, [{ listen_port: 2 }])
  t.match(
    report.rows.filter(({ line }) => line > 6),
    [{ outcome: 'ignored', reason: 'not_used' }, { outcome: 'mapped' }]
  )
  t.notMatch(JSON.stringify(report), 'opensesame')
})

t.test('the list of ports of an old frps is kept', async t => {
  const folder = t.testdir({
    'frps.ini': '[common]\nbind_port = 7000\nprivilege_token = opensesame\nprivilege_allow_ports = 10-20\n',
    'home.ini':
      '[common]\nserver_addr = a\n[in]\nremote_port = 15\nlocal_port = 1\n[out]\nremote_port = 25\nlocal_port = 1\n'
  })
  const files = ['frps.ini', 'home.ini'].map(name => join(folder, name))
  const { rules, report } = convert({ source: 'frp', files, client: undefined, owner: undefined })

  t.match(rules, [{ name: 'in', listen_port: 15 }])
  t.equal(rules.length, 1)
  t.notMatch(JSON.stringify(report), 'opensesame')
  t.notOk(report.rows.some(({ reason }) => reason === 'unknown_statement'))
})

t.test('a subdomain of an unknown frps is refused, and the other domains of the proxy are kept', async t => {
  const proxy = (keys: string) => `serverAddr = "a"\n[[proxies]]\ntype = "https"\nlocalPort = 1\n${keys}\n`
  const both = convertText(t, 'frp', proxy('subdomain = "b"\ncustomDomains = ["c.example.org"]'))
  const only = convertText(t, 'frp', proxy('subdomain = "b"'))

  t.match(both.rules, [{ sni_pattern: 'c.example.org' }])
  t.match(
    both.report.rows.find(({ line }) => line === 5),
    { outcome: 'refused', reason: 'other_side' }
  )
  t.same(only.rules, [])
})

t.test('values of the environment are data, and the report shows the template', async t => {
  const text = `user = "{{ .Envs.NAME }}"\n${proxy('{{ .Envs.PORT }}', 'localIP = "{{.Envs.HOST}}"\n')}`
  const environment = { NAME: 'home', PORT: '21', HOST: '10.0.0.1"\nplugin = "x' }

  const { rules, report } = convertText(t, 'frp', text, { environment })
  t.same(rules, [])
  t.match(report.rows.slice(-3), [
    { text: 'localPort = 80', outcome: 'refused', reason: 'target_host' },
    { text: 'remotePort = {{ .Envs.PORT }}', outcome: 'refused' },
    { text: 'localIP = "{{.Envs.HOST}}"', outcome: 'refused', reason: 'no_target' }
  ])
  t.match(convertText(t, 'frp', text, { environment: { ...environment, HOST: '10.0.0.1' } }).rules, [
    { via: 'home', listen_port: 21, targets: [{ host: '10.0.0.1' }] }
  ])
  t.same(convertText(t, 'frp', text).rules, [], 'without a value')
})

t.test('proxies of a range become one rule if only their ports count along', async t => {
  const range = (first: string, second: string, more: string): string =>
    `serverAddr = "a"\n{{- range $_, $v := parseNumberRangePair "${first}" "${second}" }}\n${proxy('{{ $v.Second }}', more).replace('= 80', '= {{ $v.First }}')}{{ end }}\n`
  const rulesOf = (text: string) => convertText(t, 'frp', text).rules

  t.match(rulesOf(range('1-2000', '10001-12000', '')), [
    { listen_port: 10001, listen_port_end: 11024, targets: [{ port: 1 }] },
    { listen_port: 11025, listen_port_end: 12000, targets: [{ port: 1025 }] }
  ])
  t.match(rulesOf(range('5,7', '1-2', '')), [
    { listen_port: 1, targets: [{ port: 5 }] },
    { listen_port: 2, targets: [{ port: 7 }] }
  ])
  t.match(rulesOf(range('1-2', '1-2', 'localIP = "h{{ $v.First }}"\n')), [
    { listen_port: 1, targets: [{ host: 'h1', port: 1 }] },
    { listen_port: 2, targets: [{ host: 'h2', port: 2 }] }
  ])
  t.match(rulesOf('[common]\nserver_addr = a\n[range:r]\nlocal_port = 5-7\nremote_port = 15-17\n'), [
    { name: 'r', listen_port: 15, listen_port_end: 17, targets: [{ port: 5 }] }
  ])
})

t.test('services of rathole need both sides, and the first client of a service has it', async t => {
  const service = '[client.services.a]\nlocal_addr = "10.0.0.1:1"\n'
  const files = {
    'server.toml': '[server.services.a]\nbind_addr = ":1"\n',
    'b.toml': service,
    'c.toml': service
  }
  const { rules, report } = convertFiles(t, 'rathole', files)

  t.match(rules, [{ client: 'server', via: 'b', name: 'a' }])
  t.match(report.rows.at(-1), { outcome: 'refused', reason: 'listen_conflict' })
  t.match(convertFiles(t, 'rathole', { 'c.toml': service }).report.rows.at(-1), { reason: 'other_side' })
  const server = { 'server.toml': files['server.toml'] }
  t.match(convertFiles(t, 'rathole', server).report.rows.at(-1), { reason: 'other_side' })
})
