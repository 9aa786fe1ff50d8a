// A mail server on loopback that understands as much SMTP as a delivery needs, and records the mails.
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'

export interface ReceivedMail {
  readonly from: string
  readonly to: readonly string[]
  readonly auth: string | null // user and password, decoded
  readonly text: string // headers and body
}

export interface MailServer {
  readonly port: number
  until(count: number): Promise<ReceivedMail>
}

interface Options {
  readonly login?: boolean // offers AUTH PLAIN
  readonly refuse?: string // the answer to RCPT
}

export async function openMailServer(
  t: Pick<Test, 'teardown'>,
  { login = false, refuse }: Options = {}
): Promise<MailServer> {
  const mails: ReceivedMail[] = []
  const waiting = new Set<() => void>()
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    void talk(socket, { login, refuse }, mail => {
      mails.push(mail)
      for (const check of waiting) check()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    port: (server.address() as AddressInfo).port,
    until: count =>
      new Promise(resolve => {
        const check = (): void => {
          const found = mails[count - 1]
          if (!found) return
          waiting.delete(check)
          resolve(found)
        }
        waiting.add(check)
        check()
      })
  }
}

async function talk(
  socket: Socket,
  { login, refuse }: { readonly login: boolean; readonly refuse: string | undefined },
  receive: (mail: ReceivedMail) => void
): Promise<void> {
  const say = (line: string): boolean => socket.write(`${line}\r\n`)
  let mail = { from: '', to: [] as string[], auth: null as string | null }
  let data: string[] | null = null
  say('220 test')
  for await (const line of createInterface({ input: socket, crlfDelay: Number.POSITIVE_INFINITY })) {
    const [, word = '', rest = ''] = /^(\S+) ?(.*)$/.exec(line) ?? []
    if (data !== null) {
      if (line !== '.') data.push(line)
      else {
        receive({ ...mail, text: data.join('\n') })
        data = null
        say('250 stored')
      }
    } else if (word === 'EHLO') say(login ? '250-test\r\n250 AUTH PLAIN' : '250 test')
    else if (word === 'AUTH') {
      mail = { ...mail, auth: Buffer.from(rest.replace('PLAIN ', ''), 'base64').toString() }
      say('235 welcome')
    } else if (word === 'MAIL') {
      mail = { ...mail, from: rest }
      say('250 ok')
    } else if (word === 'RCPT') {
      mail.to.push(rest)
      say(refuse ?? '250 ok')
    } else if (word === 'DATA') {
      data = []
      say('354 send the mail')
    } else if (word === 'QUIT') {
      say('221 bye')
      socket.end()
    } else say('250 ok')
  }
}
