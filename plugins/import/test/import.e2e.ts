// A configuration of each source, converted and applied by the real program, carries a byte for each of its rules.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { parse } from 'smol-toml'
import t, { type Test } from 'tap'
import { clientHello } from '../../../test/engine/client-hellos.ts'
import { freePort } from '../../../test/support/ports.ts'
import { startAgent, type TestCluster, testCluster } from '../../../test/support/test-cluster.ts'
import type { Report } from '../report.ts'

interface Targets {
  readonly tcp: number
  readonly udp: number
}

/** Starts servers that return what they get. */
async function openTargets(t: Test): Promise<Targets> {
  const tcp = createServer(socket => {
    socket.on('error', () => {})
    socket.once('data', data => socket.end(data))
  }).listen(0, '127.0.0.1')
  const udp = createSocket('udp4')
  udp.on('message', (data, { port, address }) => udp.send(data, port, address))
  udp.bind(0, '127.0.0.1')
  await Promise.all([once(tcp, 'listening'), once(udp, 'listening')])
  t.teardown(() => {
    tcp.close()
    udp.close()
  })
  return { tcp: (tcp.address() as AddressInfo).port, udp: udp.address().port } // a TCP address
}

const times = (count: number, text: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => text(at)).join('\n')

interface Configuration {
  readonly source: string
  readonly file: string
  readonly rules: number
  readonly text: string
  readonly exit?: string // client that dials the targets
}

/** Returns a configuration of each source, with listen ports from `first` on. */
const configurations = (first: number, { tcp, udp }: Targets): readonly Configuration[] => [
  {
    source: 'haproxy',
    file: 'haproxy.cfg',
    rules: 15,
    text: `defaults
  mode tcp
${times(11, at => `listen l${at}\n  bind :${first + at}\n  server s 127.0.0.1:${tcp} check inter 30s`)}
frontend tls
  bind :${first + 11}
  tcp-request inspect-delay 5s
  use_backend a if { req.ssl_sni -i a.example.org }
  use_backend b if { req.ssl_sni -i -m end .b.example.org }
  default_backend b
backend a
  server s 127.0.0.1:${tcp}
backend b
  balance leastconn
  server s 127.0.0.1:${tcp}
  server r 127.0.0.2:${tcp} backup
listen limited
  bind :${first + 12}
  maxconn 100
  tcp-request connection reject if !{ src 127.0.0.0/8 }
  server s 127.0.0.1:${tcp}
`
  },
  {
    source: 'nginx',
    file: 'nginx.conf',
    rules: 15,
    text: `events {}
stream {
  upstream two { least_conn; server 127.0.0.1:${tcp} weight=2; server 127.0.0.1:${tcp} backup; }
  map $ssl_preread_server_name $name { c.example.org 127.0.0.1:${tcp}; default two; }
${times(7, at => `  server { listen ${first + 20 + at}; proxy_pass 127.0.0.1:${tcp}; }`)}
${times(4, at => `  server { listen ${first + 20 + at} udp; proxy_pass 127.0.0.1:${udp}; }`)}
  server { listen ${first + 27}; allow 127.0.0.1; deny all; proxy_pass two; }
  server { listen ${first + 28}; ssl_preread on; proxy_pass $name; }
  include more.conf;
}
`
  },
  {
    source: 'iptables',
    file: 'saved.rules',
    rules: 12,
    text: `*nat
:PREROUTING ACCEPT [0:0]
${times(7, at => `-A PREROUTING -p tcp -m tcp --dport ${first + 40 + at} -j DNAT --to-destination 127.0.0.1:${tcp}`)}
${times(4, at => `-A PREROUTING -p udp -m udp --dport ${first + 40 + at} -j DNAT --to-destination 127.0.0.1:${udp}`)}
-A PREROUTING -p tcp -m tcp --dport ${first + 47} -j REDIRECT --to-ports ${tcp}
-A POSTROUTING -j MASQUERADE
COMMIT
`
  },
  {
    source: 'realm',
    file: 'realm.toml',
    rules: 12,
    text: `[network]
use_udp = false
${times(8, at => `[[endpoints]]\nlisten = "0.0.0.0:${first + 60 + at}"\nremote = "127.0.0.1:${tcp}"`)}
${times(4, at => `[[endpoints]]\nlisten = "0.0.0.0:${first + 60 + at}"\nremote = "127.0.0.1:${udp}"\nnetwork = { no_tcp = true, use_udp = true }`)}
`
  },
  {
    source: 'frp',
    file: 'frpc.toml',
    rules: 6,
    exit: 'home',
    text: `${times(6, at => `[[proxies]]\nname = "p${at}"\ntype = "tcp"\nlocalIP = "127.0.0.1"\nlocalPort = ${tcp}\nremotePort = ${first + 30 + at}`)}
`
  },
  {
    source: 'rathole',
    file: 'rathole.toml',
    rules: 3,
    exit: 'home',
    text: `[server]
bind_addr = "0.0.0.0:2333"
${times(3, at => `[server.services.s${at}]\nbind_addr = "0.0.0.0:${first + 36 + at}"`)}
[client]
remote_addr = "127.0.0.1:2333"
${times(3, at => `[client.services.s${at}]\nlocal_addr = "127.0.0.1:${tcp}"`)}
`
  },
  {
    source: 'gost',
    file: 'gost.yml',
    rules: 6,
    text: `services:
${times(6, at => `- name: service-${at}\n  addr: :${first + 80 + at}\n  handler: { type: ${at < 4 ? 'tcp' : 'udp'} }\n  listener: { type: ${at < 4 ? 'tcp' : 'udp'} }\n  forwarder:\n    nodes:\n    - addr: 127.0.0.1:${at < 4 ? tcp : udp}`)}
`
  },
  {
    source: 'gost',
    file: 'lines.txt',
    rules: 6,
    text: `gost ${times(4, at => `-L tcp://:${first + 90 + at}/127.0.0.1:${tcp}`).replaceAll('\n', ' ')}
gost -L udp://:${first + 94}/127.0.0.1:${udp} -L udp://:${first + 95}/127.0.0.1:${udp}
`
  }
]

interface Rule {
  readonly listen_port: number
  readonly protocol?: 'udp'
  readonly sni_pattern?: string
}

/** Sends a byte, or a ClientHello, through the rule. Returns true if it comes back. */
async function carries({ listen_port, protocol, sni_pattern }: Rule): Promise<boolean> {
  if (protocol === 'udp') return carriesDatagram(listen_port)
  const name = sni_pattern?.replace('*', 'www')
  const sent = name === undefined ? Buffer.from('x') : await clientHello({ servername: name })
  const socket = connect(listen_port, '127.0.0.1')
  socket.write(sent)
  const received: Buffer[] = await socket.toArray()
  return Buffer.concat(received).equals(sent)
}

async function carriesDatagram(port: number): Promise<boolean> {
  const socket = createSocket('udp4')
  const answer = once(socket, 'message')
  socket.send('x', port, '127.0.0.1')
  const [data] = await answer
  socket.close()
  return String(data) === 'x'
}

async function importInto(
  cluster: TestCluster,
  source: string,
  file: string,
  exit: string | undefined
): Promise<{ readonly document: string; readonly rules: readonly Rule[]; readonly report: Report }> {
  const document = join(cluster.dir, `${file}.document.toml`)
  const report = join(cluster.dir, `${file}.report.json`)
  const result = await cluster.cli([
    'import',
    source,
    join(cluster.dir, file),
    '--client',
    'edge',
    ...(exit === undefined ? [] : ['--exit', exit]),
    '--to',
    document,
    '--report',
    report,
    '--strict'
  ])
  if (result.code !== 0) throw new Error(result.stderr)
  const { rules } = parse(readFileSync(document, 'utf8')) as unknown as { rules: Rule[] } // as the command writes it
  return { document, rules, report: JSON.parse(readFileSync(report, 'utf8')) as Report }
}

t.test('rules of every source are applied, and each carries a byte', async t => {
  const cluster = await testCluster(t)
  await startAgent(t, cluster, 'edge')
  await startAgent(t, cluster, 'home')
  await cluster.json('client', 'set-link', 'edge', '--port', String(await freePort()), '--host', '127.0.0.1')
  const first = await freePort(100)
  const targets = await openTargets(t)
  writeFileSync(join(cluster.dir, 'more.conf'), `server { listen ${first + 29}; proxy_pass two; }\n`)
  let count = 0

  for (const { source, file, text, rules: expected, exit } of configurations(first, targets)) {
    writeFileSync(join(cluster.dir, file), text)
    const { document, rules, report } = await importInto(cluster, source, file, exit)
    const clients = exit === undefined ? ['edge'] : ['edge', exit]
    t.same([report.clients, report.rules, rules.length], [clients, expected, expected], file)

    const planned = await cluster.cli(['diff', document])
    t.equal(planned.code, 0, planned.stderr)
    const applied = await cluster.cli(['apply', document, '--yes'])
    t.equal(applied.code, 0, `${applied.stdout}${applied.stderr}`)
    t.equal((await cluster.cli(['diff', document, '--exit-code'])).code, 0, `${file} is in force`)

    for (const rule of rules) {
      t.ok(await carries(rule), `${file}: ${JSON.stringify(rule)}`)
      count += 1
    }
  }
  t.ok(count >= 60, `${count} rules`)
})

t.test('the command names what it refuses, and writes nothing with --strict', async t => {
  const cluster = await testCluster(t)
  const file = join(cluster.dir, 'edge.cfg')
  const to = join(cluster.dir, 'document.json')
  const report = join(cluster.dir, 'report.json')
  writeFileSync(file, 'listen a\n  bind :1\n  frobnicate\n  server s 10.0.0.1:1\n')
  const run = (...more: string[]) => cluster.cli(['import', 'haproxy', file, ...more])

  t.match(await run(), {
    code: 0,
    stdout: /^\[\[rules\]\]\nclient = "edge"\nname = "a"/,
    stderr:
      /edge\.cfg:3: refused \(unknown_statement\): frobnicate\nThese clients must exist before apply: edge/
  })
  t.match(await run('--strict', '--to', to, '--report', report), {
    code: 3,
    stdout: '',
    stderr: /^import_incomplete: 1 statement refused, first .*edge\.cfg:3/
  })
  t.equal((JSON.parse(readFileSync(report, 'utf8')) as Report).rules, 1)
  t.throws(() => readFileSync(to), { code: 'ENOENT' })
  t.match(await run('--to', to, '--report', report), {
    code: 0,
    stderr: /These clients/,
    stdout: /wrote 1 rule to/
  })
  t.match(JSON.parse(readFileSync(to, 'utf8')), { rules: [{ client: 'edge', listen_port: 1 }] })
  t.match(await run('--to', join(cluster.dir, 'none/x.toml')), {
    code: 2,
    stderr: /^usage: --to .* cannot be written/m
  })
  t.match(await cluster.cli(['import', 'haproxy', '-'], 'listen a\n bind :1\n server s 10.0.0.1\n'), {
    code: 0,
    stdout: /client = "import"/
  })
  t.match(await cluster.cli(['import', 'haproxy', '-'], '"'), {
    code: 3,
    stderr: /^import_invalid: stdin:1: a quote/
  })
  t.match(await cluster.cli(['import', 'squid', file]), { code: 2 })
})
