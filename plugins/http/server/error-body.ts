import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { type ErrorCode, Fault, internal, invalidSchema, notFound } from '../../../kernel/base/errors.ts'
import { newId } from '../../../kernel/platform/id.ts'
import * as codes from '../codes.ts'
import { limitText } from '../request/body-limit.ts'

/** The body of every error. */
export const ErrorBody = Type.Object({
  error: Type.Object({
    code: Type.String(),
    message: Type.String(),
    details: Type.Optional(Type.Record(Type.String(), Type.Unknown()))
  })
})

export const jsonType = 'application/json; charset=utf-8'
export const textType = 'text/plain; version=0.0.4; charset=utf-8' // the Prometheus text format

/** Works like JSON.stringify, and writes a bigint as a number with all digits. */
export function toJson(value: unknown): string {
  try {
    return JSON.stringify(value) // a replacer would dominate the cost of a page
  } catch {
    return JSON.stringify(value, withDigits) // throws again if the reason is not a bigint
  }
}
const withDigits = (_: string, part: unknown) => (typeof part === 'bigint' ? rawJson(String(part)) : part)
const { rawJSON: rawJson } = JSON as typeof JSON & { rawJSON(text: string): unknown } // missing in the types

export const errorJson = ({ errorCode: { code }, message, details }: Fault): string =>
  toJson({ error: { code, message, ...(details && { details }) } })

/** Value of Clear-Site-Data. Browsers obey it over HTTPS and on loopback. */
const clearCookies = '"cookies"'

export function sendFault(reply: FastifyReply, fault: Fault): FastifyReply {
  const { errorCode, details } = fault
  if (errorCode.http === 401) reply.header('www-authenticate', 'Bearer')
  if (details?.['clear_site_data'] === 'cookies') reply.header('clear-site-data', clearCookies)
  if (typeof details?.['etag'] === 'string') reply.header('etag', details['etag'])
  if (Array.isArray(details?.['allow'])) reply.header('allow', details['allow'].join(', '))
  if (typeof details?.['retry_after_secs'] === 'number')
    reply.header('retry-after', Math.ceil(details['retry_after_secs']))
  return reply.code(errorCode.http).type(jsonType).send(errorJson(fault))
}

const faults: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  FST_ERR_CTP_INVALID_JSON_BODY: [codes.invalidJson, 'the body is not JSON'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [codes.invalidJson, 'Content-Length does not match the body'],
  ECONNRESET: [codes.invalidJson, 'the body ended early'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [codes.unsupportedMediaType, 'send the body as application/json'],
  FST_ERR_BAD_URL: [notFound, 'the path is not a valid URL'],
  HPE_HEADER_OVERFLOW: [codes.headersTooLarge, 'headers may have at most 16 KiB'],
  ERR_HTTP_REQUEST_TIMEOUT: [codes.requestTimeout, 'headers have 10 s, the whole request has 30 s']
}

/** Converts an error to a Fault. Unexpected errors become `internal`, without details for the caller. */
export function faultOf(error: unknown, requestId: string): Fault {
  if (error instanceof Fault) return error
  const row = isOfFastify(error) ? faults[error.code] : undefined
  if (row) return new Fault(...row, { cause: error })
  return new Fault(internal, `the server failed; its log has the cause under request ${requestId}`, {
    cause: error
  })
}

/** Like `faultOf`, and names the limit that a body exceeds. */
export function faultOfRequest(error: unknown, { id, routeOptions }: FastifyRequest): Fault {
  if (!isOfFastify(error) || error.code !== 'FST_ERR_CTP_BODY_TOO_LARGE') return faultOf(error, id)
  const { bodyLimit } = routeOptions
  const message = `the body has more than ${limitText(bodyLimit)}; send less in one request`
  return new Fault(codes.bodyTooLarge, message, { cause: error, details: { limit_bytes: bodyLimit } })
}

const isOfFastify = (error: unknown): error is Error & { readonly code: string } =>
  error instanceof Error && 'code' in error && 'statusCode' in error

/** Answers a malformed or late request on the socket and closes it. */
export function refuseMalformed({ code = '' }: Error & { readonly code?: string }, socket: Duplex): void {
  if (!socket.writable || !(code.startsWith('HPE_') || code === 'ERR_HTTP_REQUEST_TIMEOUT')) {
    socket.destroy()
    return
  }
  const [row, message] = faults[code] ?? [invalidSchema, 'this is not HTTP/1.1']
  const body = errorJson(new Fault(row, message))
  const head = [
    `HTTP/1.1 ${row.http} ${STATUS_CODES[row.http]}`,
    `content-type: ${jsonType}`,
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${newId()}`,
    'connection: close',
    ...(row === codes.headersTooLarge ? [`clear-site-data: ${clearCookies}`] : []) // another port may have planted cookies
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy())
}
