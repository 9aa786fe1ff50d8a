// Files for browsers: scripts, styles, pictures. Names include a hash of the content, so that caches can keep them forever.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, extname } from 'node:path'
import mime from 'mime'
import { Type } from 'typebox'
import { defineRoute, type Route } from '../../../kernel/http/route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'

export interface Assets {
  /** One public route per file, for the plugin's `routes`. */
  readonly routes: readonly Route<Kernel>[]
  /** Returns the path of a file: '/status/page-9f86d081884c7d65.js' for 'page.js'. */
  path(name: string): string
}

/** Reads the files of a folder, without subfolders. `prefix` is that of the plugin: '/status'. */
export function openAssets(folder: URL, prefix: `/${string}`): Assets {
  const files = readdirSync(folder, { withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(({ name }) => assetOf(name, readFileSync(new URL(name, folder)), prefix))
  const paths = new Map(files.map(({ name, path }) => [name, path]))
  return {
    routes: files.map(routeOf),
    path(name) {
      const path = paths.get(name)
      if (path === undefined) throw new TypeError(`there is no file ${name} in ${folder.pathname}`)
      return path
    }
  }
}

interface Asset {
  readonly name: string
  readonly path: string
  readonly type: string
  readonly body: Buffer
}

function assetOf(name: string, body: Buffer, prefix: string): Asset {
  const hash = createHash('sha256').update(body).digest('hex').slice(0, 16)
  const extension = extname(name)
  const type = mime.getType(name)
  if (!/^\w[\w.-]*$/.test(name))
    throw new TypeError(`${name}: the name of an asset has letters, digits, _, . and -`)
  if (type === null) throw new TypeError(`${name}: its extension has no media type`)
  const isText = /^text\/|javascript|json|svg/.test(type)
  return {
    name,
    path: `${prefix}/${basename(name, extension)}-${hash}${extension}`,
    type: isText ? `${type}; charset=utf-8` : type,
    body
  }
}

const routeOf = ({ name, path, type, body }: Asset): Route<Kernel> =>
  defineRoute({
    method: 'GET',
    url: path,
    action: `asset.${name}`,
    access: 'public',
    summary: 'A file for browsers.',
    reply: 'media',
    schema: () => ({ reply: Type.Unknown() }),
    run: async (_deps: Kernel) => ({
      type,
      body,
      headers: { 'cache-control': 'public, max-age=31536000, immutable' }
    })
  })
