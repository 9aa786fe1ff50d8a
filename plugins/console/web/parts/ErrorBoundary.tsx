import { Alert, Button, Stack, Text } from '@mantine/core'
import { Component, type ReactNode } from 'react'
import { text } from '../text/text.ts'

interface Props {
  readonly resetKey: string // a new value clears the error: the path of the page
  readonly children: ReactNode
}

/** Shows an error instead of a part that throws, or a chunk that a newer build removed. The rest of the page keeps working. */
export class ErrorBoundary extends Component<Props, { readonly failed: string | null }> {
  override readonly state: { readonly failed: string | null } = { failed: null }

  static getDerivedStateFromError(error: unknown) {
    return { failed: error instanceof Error ? error.message : String(error) }
  }

  override componentDidUpdate(before: Props): void {
    if (before.resetKey !== this.props.resetKey && this.state.failed !== null) this.setState({ failed: null })
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
