import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import {
  bodyTooLarge,
  type Code,
  Fault,
  headersTooLarge,
  internal,
  invalidJson,
  invalidSchema,
  notFound,
  requestTimeout,
  unsupportedMediaType
} from '../base/errors.ts'
import { newId } from '../base/id.ts'

/** The one shape of an error on every path. */
export const ErrorBody = Type.Object({
  error: Type.Object({
    code: Type.String(),
    message: Type.String(),
    details: Type.Optional(Type.Record(Type.String(), Type.Unknown()))
  })
})

export const envelope = ({ row: { code }, message, details }: Fault): string =>
  toJson({ error: { code, message, ...(details && { details }) } })

/** 64-bit counters are printed in full. */
export const toJson = (value: unknown): string =>
  JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? rawJson(String(part)) : part))

const { rawJSON: rawJson } = JSON as typeof JSON & { rawJSON(text: string): unknown } // not in the types yet

export function sendFault(reply: FastifyReply, fault: Fault): FastifyReply {
  const { row, details } = fault
  if (row.http === 401) reply.header('www-authenticate', 'Bearer')
  if (Array.isArray(details?.['allow'])) reply.header('allow', details['allow'].join(', '))
  if (typeof details?.['retry_after_secs'] === 'number')
    reply.header('retry-after', Math.ceil(details['retry_after_secs']))
  return reply.code(row.http).type('application/json; charset=utf-8').send(envelope(fault))
}

const ofFastify: Readonly<Record<string, readonly [Code, string]>> = {
  FST_ERR_CTP_INVALID_JSON_BODY: [invalidJson, 'the body is not JSON'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [invalidJson, 'the body is not as long as Content-Length says'],
  ECONNRESET: [invalidJson, 'the body ended early'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [unsupportedMediaType, 'send the body as application/json'],
  FST_ERR_CTP_BODY_TOO_LARGE: [bodyTooLarge, 'a body may have 1 MiB at most'],
  FST_ERR_BAD_URL: [notFound, 'the path is not a valid URL'],
  FST_ERR_MAX_PARAM_LENGTH: [notFound, 'the path is too long']
}

/** Whatever was thrown, as a Fault; what nobody foresaw shows no detail. */
export function faultOf(error: unknown, requestId: string): Fault {
  if (error instanceof Fault) return error
  const known = error instanceof Error && 'code' in error ? ofFastify[String(error.code)] : undefined
  if (known) return new Fault(...known, { cause: error })
  return new Fault(internal, `the server failed; its log has the cause under request ${requestId}`, {
    cause: error
  })
}

const ofParser: Readonly<Record<string, readonly [Code, string]>> = {
  HPE_HEADER_OVERFLOW: [headersTooLarge, 'the headers may have 16 KiB at most'],
  ERR_HTTP_REQUEST_TIMEOUT: [
    requestTimeout,
    'headers must be here within 10 s, the whole request within 30 s'
  ]
}

/** What never became a request is answered on the bare socket, and then it is closed. */
export function refuseStranger(error: Error & { readonly code?: string }, socket: Duplex): void {
  const known = ofParser[error.code ?? '']
  if (!socket.writable || !(known || error.code?.startsWith('HPE_'))) {
    socket.destroy()
    return
  }
  const [row, message] = known ?? [invalidSchema, 'this is not HTTP/1.1']
  const body = envelope(new Fault(row, message))
  const head = [
    `HTTP/1.1 ${row.http} ${STATUS_CODES[row.http]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${newId()}`,
    'connection: close'
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy())
}
