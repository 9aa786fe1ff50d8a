import { createReadStream } from 'node:fs'
import { Type } from 'typebox'
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import { closed } from '../../kernel/http/schema.ts'
import { ownVersion } from '../../kernel/platform/version.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Package, Packages } from './packages.ts'
import { installScript } from './script.ts'

export const installerUnavailable = defineCode('installer_unavailable', 404, 8)

export interface Deps extends Kernel {
  readonly packages: Packages
}

async function offered({ packages }: Deps): Promise<readonly Package[]> {
  const list = await packages()
  if (typeof list !== 'string') return list
  const remedy = `put sluice-${ownVersion()}-linux-x64.tar.gz into the directory packages_dir`
  throw new Fault(installerUnavailable, `this server offers no packages: ${list}; ${remedy}`)
}

const script = defineRoute({
  method: 'GET',
  url: '/install.sh',
  action: 'installer.script',
  access: 'public',
  reply: 'media',
  summary: "Returns a script that installs an agent of the server's version.",
  schema: () => ({ reply: Type.Unknown(), errors: [installerUnavailable] }),
  run: async (deps: Deps) => ({
    type: 'text/x-shellscript; charset=utf-8',
    body: installScript(ownVersion(), await offered(deps)).text
  })
})

const file = defineRoute({
  method: 'GET',
  url: '/install/:name',
  action: 'installer.package',
  access: 'public',
  reply: 'media',
  summary: 'Returns a package for the script.',
  schema: () => ({
    params: Type.Object({ name: Type.String({ maxLength: 128, description: 'File name of the package.' }) }),
    reply: Type.Unknown(),
    errors: [installerUnavailable]
  }),
  async run(deps: Deps, { params: { name } }) {
    const found = (await offered(deps)).find(one => one.name === name)
    if (!found)
      throw new Fault(installerUnavailable, `this server offers no ${name}; /install.sh lists the packages`)
    return {
      type: 'application/gzip',
      body: createReadStream(found.file),
      headers: { 'content-length': String(found.size) }
    }
  }
})

const summary = defineRoute({
  method: 'GET',
  url: '/v1/installer',
  action: 'installer.read',
  access: 'user',
  summary: 'Returns the hash of /install.sh, and the machines that it supports.',
  schema: () => ({
    reply: closed({
      version: Type.String({ description: 'Version of the packages.', examples: ['2.0.0'] }),
      script_sha256: Type.String({
        description: 'SHA-256 of /install.sh, in hex.',
        examples: ['0'.repeat(64)]
      }),
      machines: Type.Array(Type.String(), {
        description: 'Machines with a package.',
        examples: [['linux-x64', 'linux-arm64']]
      })
    }),
    errors: [installerUnavailable]
  }),
  async run(deps: Deps) {
    const packages = await offered(deps)
    const machines = packages.map(({ machine }) => machine)
    return { version: ownVersion(), script_sha256: installScript(ownVersion(), packages).sha256, machines }
  }
})

export const routes = [script, file, summary]
