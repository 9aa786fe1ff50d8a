// Replies that are the same for all callers. They are created once and sent from one buffer.
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip as gzipWith } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Route } from '../../../kernel/http/route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { sendBody } from '../pipeline/responder.ts'
import { acceptsGzip } from './compression.ts'
import { jsonType, toJson } from './error-body.ts'

/** Sends the result of `run`, which is called for the first request of a route only. */
export type SendConstant = (
  route: Route<Kernel>,
  run: () => Promise<unknown>,
  request: FastifyRequest,
  reply: FastifyReply
) => Promise<FastifyReply>

const compress = promisify(gzipWith)

interface Constant {
  readonly etag: string
  readonly plain: Buffer
  readonly gzip: Buffer
}

export function openConstantReplies(): SendConstant {
  const made = new Map<Route<Kernel>, Promise<Constant>>()

  function constantOf(route: Route<Kernel>, run: () => Promise<unknown>): Promise<Constant> {
    const known = made.get(route)
    if (known) return known
    const making = makeConstant(run)
    made.set(route, making)
    making.catch(() => made.delete(route)) // the next request retries
    return making
  }

  return async (route, run, { headers }, reply) => {
    const { etag, plain, gzip } = await constantOf(route, run)
    reply.headers({ etag, vary: 'accept-encoding', 'cache-control': 'no-cache' })
    const known = headers['if-none-match']?.split(',').map(tag => tag.trim().replace(/^W\//, ''))
    if (known?.some(tag => tag === '*' || `W/${tag}` === etag)) return reply.code(304).send()
    reply.type(jsonType)
    return acceptsGzip(headers) ? reply.header('content-encoding', 'gzip').send(gzip) : sendBody(reply, plain)
  }
}

async function makeConstant(run: () => Promise<unknown>): Promise<Constant> {
  const plain = Buffer.from(toJson(await run()))
  const hash = createHash('sha256').update(plain).digest('base64url')
  return { etag: `W/"${hash}"`, plain, gzip: await compress(plain) } // weak: it covers both encodings
}
