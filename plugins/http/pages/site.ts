// Serves the site of a plugin at '/': its assets, and its page for any path that a browser opens and no route has.
import { existsSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { sendMedia } from '../pipeline/responder.ts'
import { pathOf } from '../request/request-context.ts'
import type { Site } from './site-slot.ts'

/** Sends an asset or the page. Throws `refusal` if the request is for neither. */
export type SendSite = (request: FastifyRequest, reply: FastifyReply, refusal: () => Error) => Promise<void>

const immutableHeaders = { 'cache-control': 'public, max-age=31536000, immutable', vary: 'accept-encoding' }

export async function openSite(app: FastifyInstance, site: () => Site | undefined): Promise<SendSite> {
  await app.register(fastifyStatic, { serve: false, preCompressed: true, cacheControl: false })
  const assetNames = openAssetNames()
  return async (request, reply, refusal) => {
    const current = site()
    const path = pathOf(request.url)
    if (!current || !/^(GET|HEAD)$/.test(request.method) || /^\/v1(\/|$)/.test(path)) throw refusal()
    const [, name] = /^\/assets\/([^/]+)$/.exec(path) ?? []
    if (name === undefined && isNavigation(request)) {
      await sendMedia(reply, current.page())
      return
    }
    if (name === undefined || !assetNames(current.assets).has(name)) throw refusal()
    await reply.headers(immutableHeaders).sendFile(name, fileURLToPath(current.assets))
  }
}

/** Browsers ask for HTML when they open a page. Programs do not, and get an error for an unknown path. */
const isNavigation = ({ headers: { accept = '' } }: FastifyRequest): boolean => accept.includes('text/html')

/** Returns a function that lists the files of a folder. It reads each folder once; files added later are not sent. */
function openAssetNames() {
  const known = new Map<string, ReadonlySet<string>>()
  return ({ href }: URL): ReadonlySet<string> => {
    const names = known.get(href) ?? new Set(existsSync(new URL(href)) ? readdirSync(new URL(href)) : [])
    known.set(href, names)
    return names
  }
}
