"""What makes good for webhooks that were lost: GitHub is asked every few minutes.

`pulls` has failed deliveries sent again and looks at open pull requests, `comments` reads what was
said lately, and `ci` looks for checks that ended after the last report.
"""
