import { Alert, Button, Stack, Text } from '@mantine/core'
import { Component, type ReactNode } from 'react'
import { text } from '../text/text.ts'

interface Props {
  readonly of: string // another value begins anew: the path of the page
  readonly children: ReactNode
}

/** In place of a part that fails, or whose script is gone since the server has newer pages. The rest of the page goes on. */
export class Boundary extends Component<Props, { readonly failed: string | null }> {
  override readonly state: { readonly failed: string | null } = { failed: null }

  static getDerivedStateFromError(error: unknown) {
    return { failed: error instanceof Error ? error.message : String(error) }
  }

  override componentDidUpdate(before: Props): void {
    if (before.of !== this.props.of && this.state.failed !== null) this.setState({ failed: null })
  }

  override render(): ReactNode {
    if (this.state.failed === null) return this.props.children
    return (
      <Alert color="red" variant="default" role="alert" title={text.broken} maw={560}>
        <Stack gap="sm" align="start">
          <Text size="sm">{this.state.failed}</Text>
          <Button variant="default" size="xs" onClick={() => location.reload()}>
            {text.reload}
          </Button>
        </Stack>
      </Alert>
    )
  }
}
