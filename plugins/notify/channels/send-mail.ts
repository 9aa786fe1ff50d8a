import { isLoopback } from '../../../kernel/platform/network.ts'
import { type Channel, hostOf, loginOf } from '../channel.ts'
import type { Outgoing } from './outgoing.ts'

interface Mail {
  readonly message: Outgoing
  readonly password: string | null
  readonly signal: AbortSignal
}

const timeoutMs = 10_000

/** Sends a mail in plain text. A password is sent only over TLS, or on this host. Rejects when `signal` is aborted. */
export async function sendMail(channel: Channel, { message, password, signal }: Mail): Promise<void> {
  const { createTransport } = await import('nodemailer') // loads slowly, and only channels of this type need it
  signal.throwIfAborted()
  const { url } = channel
  if (!url) throw new TypeError('a channel for mail has a URL')
  const isSecure = url.protocol === 'smtps:'
  const host = hostOf(url)
  const transport = createTransport({
    host,
    port: url.port === '' ? (isSecure ? 465 : 587) : Number(url.port),
    secure: isSecure,
    requireTLS: !isSecure && password !== null && !isLoopback(host),
    ...(password !== null && { auth: { user: loginOf(url) ?? '', pass: password } }),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true
  })
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  try {
    await Promise.race([aborted, transport.sendMail(mailOf(channel, message))])
  } finally {
    transport.close()
  }
}

/** The subject has no names: they are texts of others, and belong into the body. */
const mailOf = ({ from, to }: Channel, { id, at, title, text }: Outgoing) => ({
  from,
  to: [...to],
  subject: title,
  text: `${text}\n`,
  date: new Date(at),
  messageId: `<${id}@${from.slice(from.indexOf('@') + 1)}>`, // the same in every try
  headers: { 'auto-submitted': 'auto-generated' }
})
