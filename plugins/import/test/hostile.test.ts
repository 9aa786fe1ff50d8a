// Arbitrary bytes, truncated files and repeated statements: each ends with rows or `import_invalid`, within bounds of work.
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Fault } from '../../../kernel/base/errors.ts'
import { convert, type SourceName } from '../convert.ts'
import { fixtures } from './fixtures.ts'

const sources: readonly SourceName[] = ['frp', 'gost', 'haproxy', 'iptables', 'nginx', 'rathole', 'realm']

const files = fixtures.flatMap(({ source, name, paths }) => paths.map(path => ({ source, path, name })))

/** Returns bytes that look random and are the same in each run. */
function* noise(seed: string): Generator<number> {
  for (let block = 0; ; block += 1) yield* createHash('sha256').update(`${seed}/${block}`).digest()
}

class Random {
  readonly #bytes: Iterator<number>

  constructor(seed: string) {
    this.#bytes = noise(seed)
  }

  /** Returns an integer from 0 to below `most`. */
  below(most: number): number {
    const [a = 0, b = 0, c = 0] = Array.from({ length: 3 }, () => Number(this.#bytes.next().value))
    return ((a << 16) | (b << 8) | c) % most
  }
}

/** Converts bytes. Returns the number of rows, or null for `import_invalid`; other errors fail the test. */
function rowsOf(file: string, source: SourceName, bytes: Buffer | string): number | null {
  writeFileSync(file, bytes)
  try {
    const { report, rules } = convert({ source, files: [file], client: 'edge', owner: undefined })
    JSON.stringify([report, rules])
    return report.rows.length
  } catch (error) {
    if (error instanceof Fault && error.errorCode.code === 'import_invalid') return null
    throw error
  }
}

t.test('arbitrary bytes are an error or have rows', async t => {
  const file = join(t.testdir(), 'file')
  for (const source of sources)
    for (let run = 0; run < 60; run += 1) {
      const random = new Random(`${source}/${run}`)
      const alphabet = run % 2 === 0 ? null : '{}[]"\'\\#;:,.-=!*$/@ \n\tabc019'
      const bytes = Array.from({ length: random.below(400) }, () =>
        alphabet === null ? random.below(256) : alphabet.charCodeAt(random.below(alphabet.length))
      )

      t.doesNotThrow(() => rowsOf(file, source, Buffer.from(bytes)), `${source} ${run}`)
    }
})

t.test('truncated files are an error or have rows', async t => {
  const file = join(t.testdir(), 'file')
  for (const { source, path, name } of files) {
    const bytes = readFileSync(path)
    for (let end = 0; end < bytes.length; end += 61)
      if (!isFine(file, source, bytes.subarray(0, end))) t.fail(`${name} up to ${end}`)
    t.pass(name)
  }
})

t.test('changed files are an error or have rows', async t => {
  const file = join(t.testdir(), 'file')
  for (const { source, path, name } of files) {
    const text = readFileSync(path, 'utf8')
    const words = text.split(/\s+/)
    for (let run = 0; run < 30; run += 1) {
      const random = new Random(`${name}/${run}`)
      const lines = text.split('\n')
      for (let change = 0; change < 4; change += 1) {
        const at = random.below(lines.length)
        const parts = (lines[at] ?? '').split(' ')
        parts[random.below(parts.length)] = words[random.below(words.length)] ?? ''
        lines[at] = parts.join(' ')
      }
      if (!isFine(file, source, lines.join('\n'))) t.fail(`${name} ${run}`)
    }
    t.pass(name)
  }
})

function isFine(file: string, source: SourceName, bytes: Buffer | string): boolean {
  try {
    rowsOf(file, source, bytes)
    return true
  } catch (error) {
    console.error(error)
    return false
  }
}

const repeated = (count: number, text: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => text(at)).join('')

/** Statements that refer to each other, and texts that tempt a pattern to backtrack. */
const worst: readonly (readonly [title: string, SourceName, string])[] = [
  ['deep YAML', 'gost', `a: ${'['.repeat(50_000)}`],
  ['deep JSON', 'gost', `{"a":${'{"a":'.repeat(50_000)}`],
  ['deep TOML', 'realm', `a = ${'['.repeat(50_000)}`],
  ['deep nginx', 'nginx', 'a {'.repeat(100_000)],
  [
    'aliases of aliases',
    'gost',
    `a0: &a0 [1]\n${repeated(40, at => `a${at + 1}: &a${at + 1} [*a${at}, *a${at}]\n`)}`
  ],
  ['an alias of itself', 'gost', 'services: &a [*a]\n'],
  [
    'many endpoints',
    'realm',
    repeated(3000, at => `[[endpoints]]\nlisten = "0.0.0.0:${at + 1}"\nremote = "a:1"\n`)
  ],
  [
    'many ACLs of one name',
    'haproxy',
    `frontend f\n bind :1\n${repeated(50_000, () => ' acl a src 10.0.0.1\n')}`
  ],
  ['many defaults', 'haproxy', repeated(20_000, at => `defaults d${at}\n default-server weight ${at}\n`)],
  [
    'many allowed sources',
    'nginx',
    `stream{server{listen 1;${repeated(50_000, () => 'allow 10.0.0.1;')}${repeated(50_000, () => 'deny 10.0.0.2;')}proxy_pass a:1;}}`
  ],
  [
    'many limits',
    'nginx',
    `stream{server{listen 1;${repeated(20_000, () => 'limit_conn a 1;')}proxy_pass a:1;}}`
  ],
  [
    'chains that double',
    'iptables',
    `*nat\n-A PREROUTING -j c0\n${repeated(30, at => `-A c${at} -j c${at + 1}\n-A c${at} -j c${at + 1}\n`)}`
  ],
  [
    'many returns',
    'iptables',
    `*nat\n${repeated(30_000, () => '-A PREROUTING -s 10.0.0.1 -j RETURN\n')}-A PREROUTING -p tcp --dport 1 -j DNAT --to-destination 10.0.0.1\n`
  ],
  [
    'many ports',
    'iptables',
    `*nat\n-A PREROUTING -p tcp --dports ${repeated(50_000, at => `${(at % 65_000) + 1},`)}1 -j DNAT --to-destination 10.0.0.1\n`
  ],
  [
    'many shares',
    'iptables',
    `*nat\n${repeated(20_000, () => '-A PREROUTING -p tcp --dport 1 --probability 0.1 -j DNAT --to-destination 10.0.0.1\n')}`
  ],
  [
    'a long word',
    'haproxy',
    `listen ${'a'.repeat(1_000_000)}\n bind :1\n server s ${'1.'.repeat(500_000)}:1\n`
  ],
  ['a long URL', 'gost', `gost -L "tcp://${'a:b@'.repeat(200_000)}?${'passpass'.repeat(100_000)}"\n`],
  ['schemes without an end', 'gost', `gost -L ${'://'.repeat(300_000)}\n`],
  ['braces of variables', 'nginx', `stream { ${'${'.repeat(300_000)}`],
  ['an open comment', 'nginx', '#'.repeat(1_000_000)],
  ['empty lines', 'haproxy', '\n'.repeat(1_000_000)],
  ['open templates', 'frp', '{{'.repeat(500_000)],
  ['empty templates', 'frp', '{{}}'.repeat(500_000)],
  ['long templates', 'frp', `a = {{${' '.repeat(1_000_000)}-`],
  ['nested blocks', 'frp', '{{if a}}\n'.repeat(100_000)],
  ['blank lines of frp', 'frp', ' \n'.repeat(500_000)],
  ['underscores', 'frp', `[common]\n${'_'.repeat(1_000_000)} = 1\n`],
  ['dots', 'frp', `[common]\n${'.a'.repeat(500_000)} = 1\n`],
  ['a wide range', 'frp', '[common]\n[range:a]\nlocal_port = 1-999999999\nremote_port = 1-999999999\n'],
  ['many templates', 'frp', `a = [${repeated(90_000, () => '{{ .Envs.A }},')}]\n`],
  [
    'many services',
    'rathole',
    repeated(30_000, at => `[server.services.a${at}]\nbind_addr = ":${at + 1}"\n`)
  ],
  ['many includes', 'nginx', `stream { ${'include *;'.repeat(400)} }`]
]

for (const [title, source, text] of worst)
  t.test(`${title}: an error, or rows`, async t => {
    t.doesNotThrow(() => rowsOf(join(t.testdir(), 'file'), source, text))
  })

/** Statements that many others share: the work is a product of their numbers. */
const products: readonly (readonly [title: string, SourceName, string])[] = [
  [
    'servers of one backend',
    'haproxy',
    `backend b\n${repeated(4000, at => ` server s${at} 10.0.0.1:1\n`)}${repeated(4000, at => `frontend f${at}\n bind :${at + 1}\n default_backend b\n`)}`
  ],
  [
    'lines of defaults',
    'haproxy',
    `defaults\n${repeated(2000, () => ' timeout client 1\n')}${repeated(2000, at => `backend b${at}\n`)}`
  ],
  [
    'defaults of defaults',
    'haproxy',
    repeated(4000, at => `defaults d${at} from d${at - 1}\n timeout client 1\n`)
  ],
  [
    'filters of one frontend',
    'haproxy',
    `frontend f\n default_backend b\n${repeated(2000, at => ` bind :${at + 1}\n`)}${repeated(2000, () => ' tcp-request content reject if { src 10.0.0.1 }\n')}backend b\n server s 10.0.0.1:1\n`
  ],
  [
    'addresses and TLS names',
    'haproxy',
    `frontend f\n${repeated(2000, at => ` bind :${at + 1}\n`)}${repeated(2000, at => ` use_backend b if { req.ssl_sni ${at}.example.org }\n`)}backend b\n`
  ],
  [
    'names of one ACL',
    'haproxy',
    `frontend f\n bind :1\n acl a req.ssl_sni ${repeated(2000, at => `${at}.example.org `)}\n${repeated(2000, () => ' use_backend b if a\n')}backend b\n`
  ],
  [
    'tests of one ACL',
    'haproxy',
    `frontend f\n bind :1\n${repeated(2000, () => ' acl a req.len 1\n')}${repeated(2000, () => ' tcp-request content accept if a\n')}backend b\n`
  ],
  [
    'ACLs of defaults',
    'haproxy',
    `defaults d\n acl a src ${repeated(2000, () => '10.0.0.1 ')}\n${repeated(2000, at => `listen l${at}\n bind :${at + 1}\n server s 10.0.0.1:1\n`)}`
  ],
  [
    'options of default-server',
    'haproxy',
    `backend b\n default-server ${repeated(2000, () => 'check ')}\n server s 10.0.0.1:1\n${repeated(2000, at => `frontend f${at}\n bind :${at + 1}\n default_backend b\n`)}`
  ],
  [
    'directives of a stream',
    'nginx',
    `stream { ${repeated(2000, () => 'proxy_timeout 1;')}${repeated(2000, () => 'server { listen 1; }')} }`
  ],
  [
    'entries of a map',
    'nginx',
    `stream { map $ssl_preread_server_name $to { ${repeated(2000, () => 'default a:1;')} } server { ssl_preread on; proxy_pass $to; ${repeated(2000, at => `listen ${at + 1};`)} } }`
  ],
  [
    'names of a server',
    'nginx',
    `stream { server { proxy_pass a:1; server_name ${repeated(2000, () => '~a ')}; ${repeated(2000, at => `listen ${at + 1};`)} } }`
  ],
  [
    'directives of a refused server',
    'nginx',
    `stream { server { proxy_pass $to; ${repeated(2000, () => 'proxy_timeout 1;')} ${repeated(2000, at => `listen ${at + 1};`)} } }`
  ],
  [
    'options of an upstream',
    'nginx',
    `stream { upstream u { server 10.0.0.1:1 ${'a=1 '.repeat(2000)}; } server { proxy_pass u; ${repeated(2000, at => `listen ${at + 1};`)} } }`
  ],
  [
    'allowed and denied sources',
    'nginx',
    `stream { ${repeated(250, at => `allow 10.0.0.${at};`)}${repeated(250, at => `deny 10.1.0.${at};`)}${repeated(60, at => `server { listen ${at + 1}; proxy_pass a:1; }`)} }`
  ],
  [
    'ranges of ports',
    'nginx',
    `stream { server { listen 1-9000; proxy_pass a:$server_port; } ${repeated(300, () => 'server { listen 1-9000; proxy_pass a:1; }')} }`
  ],
  [
    'matchers of an admission',
    'gost',
    `{"admissions":[{"name":"a","matchers":[${repeated(2000, () => '"10.0.0.1",')}"10.0.0.1"]}],"services":[${repeated(2000, at => `{"name":"s${at}","admission":"a"},`)}{}]}`
  ],
  [
    'admissions of a service',
    'gost',
    `{"admissions":[${repeated(3000, at => `{"name":"a${at}","matchers":["10.0.0.1"]},`)}{}],"services":[{"admissions":[${repeated(3000, at => `"a${at}",`)}"a"]}]}`
  ],
  [
    'limits of a limiter',
    'gost',
    `{"limiters":[{"name":"a","limits":[${repeated(2000, () => '"$ 1MB",')}"$ 1MB"]}],"services":[${repeated(2000, at => `{"name":"s${at}","limiter":"a"},`)}{}]}`
  ],
  [
    'nodes of a chain',
    'gost',
    `{"chains":[{"name":"c","hops":[{"nodes":[${repeated(2000, at => `{"addr":"a${at}:1"},`)}{}]}]}],"services":[${repeated(2000, () => '{"handler":{"type":"tcp","chain":"c"}},')}{}]}`
  ],
  [
    'nodes of a hop with targets',
    'gost',
    `{"hops":[{"name":"h","nodes":[${repeated(2000, at => `{"addr":"a${at}:1"},`)}{}]}],"services":[${repeated(2000, () => '{"handler":{"type":"tcp"},"forwarder":{"hop":"h"}},')}{}]}`
  ],
  [
    'numbers of a range',
    'frp',
    `serverAddr = "a"\n{{ range parseNumberRange "1-999999999" }}\n[[proxies]]\nname = "a"\nlocalIP = "h{{ . }}"\nremotePort = {{ . }}\n{{ end }}\n`
  ],
  [
    'domains of a proxy in a range',
    'frp',
    `serverAddr = "a"\n{{ range parseNumberRange "1-2000" }}\n[[proxies]]\ntype = "https"\nlocalPort = {{ . }}\ncustomDomains = [${repeated(2000, at => `"a${at}.example.org",`)}]\n{{ end }}\n`
  ],
  [
    'ports along a chain',
    'iptables',
    `*nat\n-A PREROUTING -p tcp --dports ${repeated(2000, at => `${at + 1},`)}1 -j A\n-A A -p tcp --dports ${repeated(2000, at => `${at + 1},`)}1 -j DNAT --to-destination 10.0.0.1\n`
  ],
  [
    'sources and ports',
    'iptables',
    `*nat\n-A PREROUTING -s ${repeated(2000, () => '10.0.0.1,')}10.0.0.1 -p tcp --dports ${repeated(2000, at => `${at + 1},`)}1 -j DNAT --to-destination 10.0.0.1\n`
  ],
  [
    'sources of returns and ports',
    'iptables',
    `*nat\n-A PREROUTING -s ${repeated(2000, () => '10.0.0.1,')}10.0.0.1 -j RETURN\n-A PREROUTING -p tcp --dports ${repeated(2000, at => `${at + 1},`)}1 -j DNAT --to-destination 10.0.0.1\n`
  ],
  [
    'denied sources along a chain',
    'iptables',
    `*nat\n-A PREROUTING ! -s ${repeated(2000, () => '10.0.0.1,')}10.0.0.1 -j c\n${repeated(2000, () => '-A c ! -s 10.0.0.2 -p tcp --dport 1 -j ACCEPT2\n')}`
  ],
  [
    'destinations and ports',
    'iptables',
    `*nat\n-A PREROUTING -p tcp --dports ${repeated(2000, at => `${at + 1},`)}1 -j DNAT ${repeated(30, () => '--to-destination 10.0.0.1-10.0.0.64 ')}\n`
  ]
]

for (const [title, source, text] of products)
  t.test(`the work is bounded: ${title}`, async t => {
    const file = join(t.testdir(), 'file')
    writeFileSync(file, text)

    t.throws(() => convert({ source, files: [file], client: undefined, owner: undefined }), {
      errorCode: { code: 'import_invalid' },
      message: /too many rules share too many statements/
    })
  })

t.test('a list that is longer than the arguments of a call is read', async t => {
  const many = 130_000
  const names = repeated(many, at => `${at}.example.org `)
  const rules = {
    haproxy: `frontend f\n bind :1\n acl a req.ssl_sni -- ${names}\n use_backend b if a\nbackend b\n`,
    nginx: 'stream { include lines.conf; }',
    iptables: `*nat\n-A PREROUTING -s ${repeated(many, () => '10.0.0.1,')}10.0.0.1 -j RETURN\n-A PREROUTING -p tcp --dport 1 -j DNAT --to-destination 10.0.0.1\n`
  }
  const dir = t.testdir({ 'lines.conf': repeated(many, () => 'preread_timeout 1;\n') })

  for (const [source, text] of Object.entries(rules))
    t.ok(rowsOf(join(dir, `main-${source}.conf`), source as SourceName, text), source)
})
