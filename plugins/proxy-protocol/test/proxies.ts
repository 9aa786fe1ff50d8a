// nginx and HAProxy as senders of headers, and as receivers that answer with the addresses in a header.
import { type ChildProcess, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { connect as connectTcp, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import type { Test } from 'tap'
import { spawnChild } from '../../../test/support/child-process.ts'
import { openCertificate } from '../../certificate/certificate.ts'

const streamModule = '/usr/lib/nginx/modules/ngx_stream_module.so'

/** The reason to skip tests that need both programs, or false. */
export const skipReason: string | false =
  spawnSync('nginx', ['-v']).status === 0 &&
  spawnSync('haproxy', ['-v']).status === 0 &&
  existsSync(streamModule)
    ? false
    : 'nginx with its stream module and haproxy are not installed'

export interface Sender {
  readonly form: 'nginx, version 1' | keyof typeof haproxyForms
  readonly listen: number
  readonly to: number
}

const haproxyForms = {
  'haproxy, version 1': 'send-proxy',
  'haproxy, version 2': 'send-proxy-v2',
  'haproxy, version 2 with values': 'send-proxy-v2 proxy-v2-options authority,crc32c,ssl,unique-id'
} as const

export interface Ports {
  /** Ports of receivers by program; `tls` receivers serve TLS after the header. */
  readonly nginx: { readonly plain: readonly number[]; readonly tls: number }
  readonly haproxy: { readonly plain: readonly number[]; readonly tls: number }
  readonly senders: readonly Sender[]
}

/** Starts both programs as receivers and senders, with their files in a new directory. Returns their log lines. */
export async function startProxies(t: Test, dir: string, ports: Ports): Promise<readonly string[]> {
  mkdirSync(dir)
  mkdirSync(join(dir, 'tls'), { mode: 0o700 })
  const { cert, key } = await openCertificate(join(dir, 'tls'))
  const file = (name: string, text: string): string => {
    writeFileSync(join(dir, name), text, { mode: 0o600 })
    return join(dir, name)
  }
  const tls = {
    cert: file('cert.pem', String(cert)),
    key: file('key.pem', String(key)),
    both: file('both.pem', `${cert}\n${key}`)
  }
  const nginx = ['-p', dir, '-c', file('nginx.conf', nginxConfig(ports, tls)), '-e', 'stderr']
  const haproxy = ['-db', '-f', file('haproxy.cfg', haproxyConfig(ports, tls.both))]
  const programs = [
    spawnChild('nginx', nginx, { stdio: 'pipe' }),
    spawnChild('haproxy', haproxy, { stdio: 'pipe' })
  ]
  const logged: string[] = []
  for (const program of programs) {
    t.teardown(() => end(program))
    for (const output of [program.stdout, program.stderr])
      createInterface({ input: output }).on('line', line => logged.push(line))
  }
  const all = [ports.nginx, ports.haproxy].flatMap(({ plain, tls }) => [...plain, tls])
  await Promise.all(
    [...all, ...ports.senders.map(({ listen }) => listen)].map(port => untilOpen(port, programs, logged))
  )
  return logged
}

async function end(program: ChildProcess): Promise<void> {
  if (program.exitCode !== null) return
  const ended = new Promise(resolve => program.once('exit', resolve))
  program.kill('SIGTERM')
  await ended
}

async function untilOpen(
  port: number,
  programs: readonly ChildProcess[],
  logged: readonly string[]
): Promise<void> {
  for (;;) {
    const failed = programs.find(({ exitCode }) => exitCode !== null)
    if (failed) throw new Error(`${failed.spawnfile}: ${logged.join('\n')}`)
    if (await isOpen(port)) return
    await setTimeout(50)
  }
}

const isOpen = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const socket = connectTcp(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })

type Tls = Readonly<Record<'cert' | 'key' | 'both', string>>

const nginxConfig = ({ nginx, senders }: Ports, { cert, key }: Tls): string => `
load_module ${streamModule};
daemon off; pid nginx.pid; error_log stderr info; worker_processes 1;
events {}
stream {
${senders
  .filter(({ form }) => form.startsWith('nginx'))
  .map(
    ({ listen, to }) => `  server {
    listen 127.0.0.1:${listen}; listen [::1]:${listen};
    proxy_pass 127.0.0.1:${to}; proxy_protocol on;
  }`
  )
  .join('\n')}
}
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(name => `${name}_temp_path ${name};`).join(' ')}
  default_type text/plain;
  server {
    ${nginx.plain.map(port => `listen 127.0.0.1:${port} proxy_protocol;`).join(' ')}
    listen 127.0.0.1:${nginx.tls} ssl proxy_protocol;
    ssl_certificate ${cert}; ssl_certificate_key ${key};
    return 200 "$proxy_protocol_addr $proxy_protocol_port $proxy_protocol_server_addr $proxy_protocol_server_port";
  }
}
`

const haproxyConfig = ({ haproxy, senders }: Ports, pem: string): string => `
global
  log stdout format raw daemon
defaults
  mode http
  timeout connect 10s
  timeout client 60s
  timeout server 60s
frontend receiver
  log global
  option httplog
  ${haproxy.plain.map(port => `bind 127.0.0.1:${port} accept-proxy`).join('\n  ')}
  bind 127.0.0.1:${haproxy.tls} accept-proxy ssl crt ${pem}
  http-request return status 200 content-type text/plain lf-string "%[src] %[src_port] %[dst] %[dst_port] %[fc_pp_authority] %[fc_pp_unique_id,hex]"
${senders
  .flatMap(({ form, ...ports }) => (form === 'nginx, version 1' ? [] : [{ ...ports, form }]))
  .map(
    ({ form, listen, to }) => `listen sender-${listen}
  mode tcp
  unique-id-format %pid-%rt
  bind 127.0.0.1:${listen}
  bind [::1]:${listen}
  server rule 127.0.0.1:${to} ${haproxyForms[form]}`
  )
  .join('\n')}
`

export interface ReceiverAnswer {
  readonly own: string // the caller's address and port
  readonly body: string // the receiver's answer
}

/** Sends a request to a port, with TLS if a server name is given. */
export async function request(
  host: string,
  port: number,
  servername: string | null
): Promise<ReceiverAnswer> {
  const socket: Socket =
    servername === null
      ? connectTcp(port, host)
      : connectTls({ host, port, servername, rejectUnauthorized: false })
  socket.write('GET / HTTP/1.0\r\n\r\n')
  let own = ''
  socket.once('connect', () => {
    own = `${socket.localAddress} ${socket.localPort}`
  })
  const answer = String(Buffer.concat(await socket.toArray()))
  return { own, body: answer.split('\r\n\r\n')[1] ?? answer }
}
