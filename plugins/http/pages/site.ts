// Pages of a plugin at '/': browsers get them for paths without a route.
import { existsSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { sendMedia } from '../pipeline/responder.ts'
import { pathOf } from '../request/request-context.ts'
import type { Site } from './site-slot.ts'

/** Sends a file or the page. Throws the refusal for other requests. */
export type SendSite = (request: FastifyRequest, reply: FastifyReply, refusal: () => Error) => Promise<void>

const forGood = { 'cache-control': 'public, max-age=31536000, immutable', vary: 'accept-encoding' }

export async function openSite(app: FastifyInstance, site: () => Site | undefined): Promise<SendSite> {
  await app.register(fastifyStatic, { serve: false, preCompressed: true, cacheControl: false })
  const namesIn = openNames()
  return async (request, reply, refusal) => {
    const found = site()
    const path = pathOf(request.url)
    if (!found || !/^(GET|HEAD)$/.test(request.method) || /^\/v1(\/|$)/.test(path)) throw refusal()
    const [, name] = /^\/assets\/([^/]+)$/.exec(path) ?? []
    if (name === undefined && isNavigation(request)) {
      await sendMedia(reply, found.page())
      return
    }
    if (name === undefined || !namesIn(found.assets).has(name)) throw refusal()
    await reply.headers(forGood).sendFile(name, fileURLToPath(found.assets))
  }
}

/** Browsers accept HTML explicitly. For programs, which do not, an unknown path is an error. */
const isNavigation = ({ headers: { accept = '' } }: FastifyRequest): boolean => accept.includes('text/html')

/** Returns a function that lists the folder once. Only these files are ever sent. */
function openNames() {
  const known = new Map<string, ReadonlySet<string>>()
  return ({ href }: URL): ReadonlySet<string> => {
    const names = known.get(href) ?? new Set(existsSync(new URL(href)) ? readdirSync(new URL(href)) : [])
    known.set(href, names)
    return names
  }
}
