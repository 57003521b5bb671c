// Types of what is imported by a path that has none of its own.
declare module "*.css" {}

// One icon each: the package's index names thousands, which takes the bundler ten seconds.
declare module "@tabler/icons-react/dist/esm/icons/*.mjs" {
  import type { Icon } from "@tabler/icons-react"
  const icon: Icon
  export default icon
}
