import { asFunction } from 'awilix'
import { Type } from 'typebox'
import { ownVersion } from '../../kernel/platform/version.ts'
import { definePlugin, type Kernel } from '../../kernel/plugin.ts'
import { fills } from './commands.ts'
import { openPackages } from './packages.ts'
import { type Deps, installerUnavailable, routes } from './routes.ts'

const keys = Type.Object({
  packages_dir: Type.Optional(
    Type.String({ isPath: true, description: 'Directory of the packages that /install.sh offers.' })
  )
})

export default definePlugin<Deps>({
  name: 'installer',
  version: '1.0.0',
  description: "A script that installs agents of the server's version.",
  kernel: '^2.0.0',
  needs: { cli: '^1.0.0', enrollment: '^1.0.0' },
  prefix: '/install',
  keys,
  codes: [installerUnavailable],
  services: {
    packages: asFunction(({ config }: Kernel<typeof keys>) =>
      openPackages({ dir: config.packages_dir, version: ownVersion() })
    ).singleton()
  },
  fills,
  routes
})
